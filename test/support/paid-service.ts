import { commandWorld, NO_ACCOUNT } from "./command-world.ts";
import { type Part, type ServiceForm, serviceDouble } from "./doubles/double.ts";
import type { Answer } from "./scripted-server.ts";

/** Commands run in this process, and a paid service of a kind that they use. @param script parts that answer otherwise */
export async function paidService(
  form: ServiceForm,
  script: Partial<Record<Part, Answer>> = {},
  more: Record<string, string> = {},
) {
  const double = await serviceDouble(form, script);
  const env = { IMGGEN_GENERATOR: double.spec, IMGGEN_GENERATOR_KEY: "secret-key-1", ...NO_ACCOUNT, ...more };
  const world = await commandWorld({}, env);
  const generate = ["generate", "a fox", "--model", form.model, "--generator-paid"];
  return { ...world, double, generate };
}
