import { NetworkError } from "../../api/api-errors.ts";
import { proxiesFromEnvironment } from "../../api/proxies.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { isAmong } from "../../models/check-request.ts";
import { errorOf } from "../../providers/failures.ts";
import type { ProviderDeps } from "../../providers/kind.ts";
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

/** What asking a generator depends on. */
export type AskingSession = Pick<TargetSession, "context" | "onExchange">;

/** Opens a generator's provider. Nothing is sent or run. @param more what only its tasks need */
export function providerOf(
  { spec, options }: OwnGenerator,
  { context: { env, clock }, onExchange }: AskingSession,
  more: Pick<ProviderDeps, "cacheFolder" | "workflows" | "packageKeys"> = {},
): Promise<Provider> {
  const proxies = proxiesFromEnvironment(env);
  return openProvider(spec, options, { env, clock, proxies, onExchange, ...more });
}

/** A provider's error as one for the user; any other is thrown as it is. */
export function throwNamed(error: unknown): never {
  throw error instanceof ProviderError ? errorOf(error) : error;
}

/** Opens a generator for one question. @throws ImggenError, UsageError */
export async function asked<Answer>(
  generator: OwnGenerator,
  session: AskingSession,
  ask: (provider: Provider, signal: AbortSignal) => Promise<Answer>,
  timeoutMs = ASK_MS,
): Promise<Answer> {
  requireKey(generator);
  const { spec } = generator;
  const check = spec.kind === "command" ? "Check the path of its program." : SERVER_CHECK;
  const hint = `Nothing was charged. ${check}`;
  const provider = await providerOf(generator, session);
  try {
    return await ask(provider, AbortSignal.timeout(timeoutMs));
  } catch (error) {
    if (error instanceof ProviderError && error.failure.kind === "unsent")
      throw new NetworkError(error.message, { hint: error.hint ?? hint, cause: error });
    if (error instanceof Error && error.name === "TimeoutError")
      throw new NetworkError(`${spec.name} does not answer.`, { hint, cause: error });
    throwNamed(error);
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
