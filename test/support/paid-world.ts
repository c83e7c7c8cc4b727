import { type Part, type ServiceForm, serviceDouble } from "./doubles/double.ts";
import { CANARY, programWorld } from "./program-world.ts";
import type { Answer } from "./scripted-server.ts";

/** Environment of a program that has only this generator, and a key for it. */
export function generatorEnvironment(spec: string) {
  return {
    IMGGEN_GENERATOR: spec,
    IMGGEN_GENERATOR_KEY: CANARY,
    IMGGEN_API_KEY: undefined,
    IMGGEN_BASE_URL: undefined,
  };
}

/** A paid service of a kind, parts of which answer otherwise, and the built program that uses it. */
export async function paidWorld(form: ServiceForm, script: Partial<Record<Part, Answer>> = {}) {
  const double = await serviceDouble(form, script);
  const world = await programWorld(null);
  const env = generatorEnvironment(double.spec);
  const args = world.generateArgs(["--generator-paid", "--model", form.model]);
  return { double, world, env, args };
}
