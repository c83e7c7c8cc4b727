import type { OwnGenerator } from "../../../client/own-generator.ts";
import { formatDuration } from "../../../lib/duration.ts";
import { ImggenError } from "../../../lib/error-types.ts";
import { maskKey, withoutQuery } from "../../../lib/redact.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import type { Session } from "../../session/session.ts";
import { type AskedGenerator, type CheckResult, failed, ok, skipped, warning } from "./check.ts";

/** Asks a generator for its models, which costs nothing. */
export async function askGenerator(own: OwnGenerator, session: Session): Promise<AskedGenerator> {
  const { requireKey } = await import("../../../client/own-generator.ts");
  const { modelNames } = await import("../../../client/generator-terms.ts");
  let startMs: number | null = null;
  const elapsedMs = () => (startMs === null ? null : performance.now() - startMs);
  try {
    requireKey(own.spec, own.options);
    startMs = performance.now();
    const models = await modelNames(own, session.context);
    return { kind: "generator", own, models, error: null, elapsedMs: elapsedMs() };
  } catch (error) {
    if (!(error instanceof ImggenError)) throw error;
    return { kind: "generator", own, models: null, error, elapsedMs: elapsedMs() };
  }
}

/** Whether the generator can be reached, and has the model that is set. */
export function checkReachable(asked: AskedGenerator): CheckResult {
  const { own, models, error, elapsedMs } = asked;
  const { spec } = own;
  const name = withoutQuery(spec.name);
  const facts = { generator: name, paid: own.options.isPaid };
  const cost = own.options.isPaid ? "paid" : "free";
  if (spec.kind === "command") {
    if (error !== null) return failed(error.message, FIX_COMMAND, facts);
    return ok(`${name}, ${cost}`, facts);
  }
  if (elapsedMs === null) return skipped(`${name} is asked only with a key`, facts);
  if (error?.type === "network") return failed(error.message, "Start it, or fix its address.", facts);
  if (error?.type === "service_error")
    return warning(`It answers, but: ${error.message}`, LIST_MODELS, facts);
  const { model } = own.options;
  if (model !== null && models?.includes(model) === false)
    return warning(`It answers, and does not list the model ${model}.`, SEE_MODELS, facts);
  return ok(`${name} answers in ${formatDuration(elapsedMs)}, ${cost}${modelsText(models)}`, facts);
}

function modelsText(models: readonly string[] | null): string {
  if (models === null) return "";
  return models.length === 1 ? `, with the model ${models[0]}` : `, with ${models.length} models`;
}

const FIX_COMMAND = "Use the program's full path, and make it executable.";
const SEE_MODELS = "To see those that it has: imggen models";
const LIST_MODELS = "Some servers have no list of models. If it makes images, nothing is wrong.";

/** Whether the generator takes the key. */
export function checkGeneratorKey({ own, error }: AskedGenerator): CheckResult {
  const { spec, options } = own;
  if (spec.kind === "command") return ok("none, for a command", { key: null });
  const key = options.key === null ? null : maskKey(options.key);
  const store = `imggen login --generator ${shellWord(spec.name)}`;
  if (error?.type === "auth_required" || error?.type === "insufficient_credits")
    return failed(error.message, `Store one that works: ${store}`, { key });
  const shown = key ?? "none";
  if (error !== null) return skipped(`${shown}; the generator could not be asked about it`, { key });
  return ok(key === null ? "none, and none is needed to ask for its models" : `${key}, accepted`, { key });
}
