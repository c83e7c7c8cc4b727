import { NetworkError } from "../../api/api-errors.ts";
import { proxiesFromEnvironment } from "../../api/proxies.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { isAmong } from "../../models/check-request.ts";
import { errorOf } from "../../providers/failures.ts";
import { openProvider } from "../../providers/kinds.ts";
import { type Provider, ProviderError } from "../../providers/provider.ts";
import { requireKey } from "../generator-key.ts";
import type { OwnGenerator } from "../generator-settings.ts";
import type { ModelsOffered, TargetSession } from "./target.ts";

/** Time limit of a server's answer: it may have to wake up. */
const ASK_MS = 15_000;

/** Asks a generator for its models, and for the one that is loaded. @throws ImggenError, UsageError */
export function modelsOffered(
  generator: OwnGenerator,
  session: AskingSession,
  timeoutMs = ASK_MS,
): Promise<ModelsOffered> {
  const ask = async (provider: Provider, signal: AbortSignal) => {
    const [names = null, loaded = null] = await Promise.all([
      provider.models?.(signal),
      provider.loadedModel?.(signal),
    ]);
    const listed = loaded && names?.find((name) => isAmong([loaded], name));
    return { names, loaded: listed ?? loaded, needsName: provider.loadedModel === undefined };
  };
  return asked(generator, session, ask, timeoutMs);
}

/** The names of a generator's models; null if it has no list. @throws ImggenError, UsageError */
export async function modelNames(
  generator: OwnGenerator,
  session: AskingSession,
  timeoutMs?: number,
): Promise<string[] | null> {
  const ask = async (provider: Provider, signal: AbortSignal) => provider.models?.(signal);
  return (await asked(generator, session, ask, timeoutMs)) ?? null;
}

/** What asking a generator depends on. */
export type AskingSession = Pick<TargetSession, "context" | "onExchange">;

/** Opens a generator for one question. @throws ImggenError, UsageError */
export async function asked<Answer>(
  generator: OwnGenerator,
  { context: { env, clock }, onExchange }: AskingSession,
  ask: (provider: Provider, signal: AbortSignal) => Promise<Answer>,
  timeoutMs = ASK_MS,
): Promise<Answer> {
  requireKey(generator);
  const { spec, options } = generator;
  const check = spec.kind === "command" ? "Check the path of its program." : SERVER_CHECK;
  const hint = `Nothing was charged. ${check}`;
  const proxies = proxiesFromEnvironment(env);
  const provider = await openProvider(spec, options, { env, clock, proxies, onExchange });
  try {
    return await ask(provider, AbortSignal.timeout(timeoutMs));
  } catch (error) {
    if (error instanceof ProviderError && error.failure.kind === "unsent")
      throw new NetworkError(error.message, { hint: error.hint ?? hint, cause: error });
    if (error instanceof ProviderError) throw errorOf(error);
    if (!(error instanceof Error) || error.name !== "TimeoutError") throw error;
    throw new NetworkError(`${spec.name} does not answer.`, { hint, cause: error });
  } finally {
    await provider.close();
  }
}

const SERVER_CHECK = "Is it running, and is its address right?";

/** Returns an ImggenError as a value; throws any other error. */
export function asFailure(error: unknown): ImggenError {
  if (error instanceof ImggenError) return error;
  throw error;
}
