import { formatDuration } from "../../lib/duration.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { maskKey } from "../../lib/redact.ts";
import { shellWord } from "../../lib/shell-word.ts";
import type { Provider } from "../../providers/provider.ts";
import { describeSetting } from "../effective-settings.ts";
import { findOtherKind } from "../find-generators.ts";
import { type Finding, failed, news, ok, skipped, warning } from "../finding.ts";
import { lacksKey, type UserGenerator } from "../generator-settings.ts";
import { queryGenerator, returnImggenError } from "./open-generator.ts";
import type { TargetCheck, TargetCheckOptions, TargetSession } from "./target.ts";

type Reply = readonly string[] | null | ImggenError;

export async function checkGenerator(
  generator: UserGenerator,
  session: TargetSession,
  { signal, timeoutMs }: TargetCheckOptions,
): Promise<TargetCheck> {
  const startMs = performance.now();
  const listModels = async (provider: Provider, signal: AbortSignal) =>
    (await provider.models?.(signal)) ?? null;
  const reply: Reply = await queryGenerator(generator, session, listModels, timeoutMs).catch(
    returnImggenError,
  );
  const elapsedMs = performance.now() - startMs;
  return {
    async service() {
      const otherName = await detectOtherKind(generator, reply, signal, session);
      return otherName === null
        ? checkReachable(generator, reply, elapsedMs, session)
        : otherKindFinding(generator, otherName);
    },
    key: () => checkKey(generator, reply),
    clock: () => null,
    isVerified: Array.isArray(reply),
    failure: () => (reply instanceof ImggenError ? reply : null),
  };
}

/** Finds a generator of another kind at the address, unless the reply matches the configured kind. */
async function detectOtherKind(
  { spec }: UserGenerator,
  reply: Reply,
  signal: AbortSignal,
  session: TargetSession,
): Promise<string | null> {
  const isAsExpected = Array.isArray(reply) || (reply instanceof ImggenError && INCONCLUSIVE.has(reply.type));
  if (spec.kind === "command" || spec.kind === "npm" || isAsExpected) return null;
  return findOtherKind(spec, signal, session);
}

/** Errors that do not reveal the kind of a server. */
const INCONCLUSIVE: ReadonlySet<string> = new Set(["auth_required", "insufficient_credits"]);

function otherKindFinding({ spec, options }: UserGenerator, other: string): Finding {
  const { name } = spec;
  const hint = `To use that API: imggen config set generator ${shellWord(other)}`;
  return failed(`${name} answers with the API of ${other}.`, hint, { generator: name, paid: options.isPaid });
}

function checkReachable(
  generator: UserGenerator,
  reply: Reply,
  elapsedMs: number,
  { settings }: TargetSession,
): Finding {
  const { spec, options } = generator;
  const { name } = spec;
  const facts = { generator: name, paid: options.isPaid };
  const cost = options.isPaid ? "paid" : "free";
  if (spec.kind === "command") {
    if (reply instanceof ImggenError) return failed(reply.message, FIX_COMMAND, facts);
    return news(`${name}, ${cost}`, facts);
  }
  if (lacksKey(generator)) return skipped(`${name} is not checked without a key`, facts);
  const answers = `${name} answers in ${formatDuration(elapsedMs)}, ${cost}`;
  if (reply instanceof ImggenError) {
    const { type, message } = reply;
    if (type === "network")
      return failed(message, "Check that it is running, its address, and the network.", facts);
    return type === "service_error"
      ? warning(`It answers, but: ${message}`, LIST_MODELS, facts)
      : news(answers, facts);
  }
  if (reply === null)
    return WITH_LIST.has(spec.kind)
      ? warning(`${name}: its list of models answers 404. Is the address right?`, LIST_MODELS, facts)
      : news(answers, facts);
  const { model } = options;
  const setting = settings.flag("generatorModel") ?? settings.stored("generatorModel");
  if (model !== null && setting !== undefined && !reply.includes(model))
    return warning(
      `It answers, but does not list the model of ${describeSetting("generatorModel", setting)}.`,
      SEE_MODELS,
      facts,
    );
  const models = reply.length === 1 ? `the model ${reply[0]}` : `${reply.length} models`;
  return news(`${answers}, with ${models}`, facts);
}

const WITH_LIST: ReadonlySet<string> = new Set(["openai", "sdapi"]);

const FIX_COMMAND = "Use the program's full path, and make it executable.";
const SEE_MODELS = "To see its models: imggen models";
const LIST_MODELS = "Some servers have no list of models. If it generates images, ignore this warning.";

function checkKey({ spec, options }: UserGenerator, reply: Reply): Finding {
  if (spec.kind === "command") return ok("none (a command needs no key)", { key: null });
  const key = options.key === null ? null : maskKey(options.key);
  const storeCommand = `imggen login --generator ${shellWord(spec.name)}`;
  if (reply instanceof ImggenError) {
    if (reply.type === "auth_required" || reply.type === "insufficient_credits")
      return failed(reply.message, `Store one that works: ${storeCommand}`, { key });
    return skipped(`${key ?? "none"}, which could not be checked at the generator`, { key });
  }
  if (key === null) return ok("none (not needed to list its models)", { key });
  return news(`${key}, accepted`, { key });
}
