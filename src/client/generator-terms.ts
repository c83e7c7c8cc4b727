import { AuthRequiredError, InsufficientCreditsError, NetworkError, ServiceError } from "../api/errors.ts";
import { proxiesFromEnvironment } from "../api/proxies.ts";
import { ImggenError, UsageError } from "../lib/error-types.ts";
import type { GeneratorTerms } from "../models/check.ts";
import { GeneratorError } from "../providers/generator.ts";
import { defaultModelOf, openGenerator } from "../providers/kinds.ts";
import { ANY_MODEL } from "../task/request.ts";
import { type GeneratorSource, type OwnGenerator, ownGenerator, requireKey } from "./own-generator.ts";
import type { ClientSession } from "./session.ts";

// Loaded only where there is a generator.

/** Terms that requests to a generator are checked against. The generator is not asked for its models. */
export function termsUnasked(own: OwnGenerator, source: GeneratorSource): GeneratorTerms {
  return { isFree: !own.options.isPaid, defaultModel: modelSet(own, source) ?? ANY_MODEL };
}

/** Terms for a client that cannot wait. @returns null without a generator */
export function termsAtOnce(source: GeneratorSource): GeneratorTerms | null {
  const setting = source.settings.generator();
  return setting === undefined ? null : termsUnasked(ownGenerator(setting, source), source);
}

/** Terms that requests to a generator are checked against. It is asked for its models where nothing says which to use. */
export async function termsAsked(
  own: OwnGenerator,
  source: GeneratorSource & Pick<ClientSession, "context">,
): Promise<GeneratorTerms> {
  // What is wrong matters only to a request that names no model.
  const defaultModel = modelSet(own, source) ?? (await onlyModel(own, source).catch(asFailure));
  return { isFree: !own.options.isPaid, defaultModel };
}

/** What is set, or known of the generator. The setting `model` is meant for the generator of the same config. */
function modelSet({ spec, options }: OwnGenerator, { settings }: GeneratorSource): string | null {
  if (options.model !== null) return options.model;
  const setting = settings.get("model");
  const isMeant = setting?.source === "environment" || settings.generator()?.source === "config";
  return (isMeant ? setting?.value : undefined) ?? defaultModelOf(spec);
}

/** The only model of a generator. @throws UsageError where it has several, ImggenError where it cannot be asked */
async function onlyModel(own: OwnGenerator, { context }: Pick<ClientSession, "context">): Promise<string> {
  const names = await modelNames(own, context);
  if (names === null) return ANY_MODEL;
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined)
    throw new ServiceError(`${own.spec.name} has no model that makes images.`, { charged: "no" });
  throw new UsageError(`${own.spec.name} has ${names.length} models, and none is chosen.`, {
    hint: `Nothing was sent. Add --model <name>, or set --generator-model. It has: ${listed(names)}`,
  });
}

const MOST_NAMED = 12;

function listed(names: readonly string[]): string {
  return names.slice(0, MOST_NAMED).join(", ") + (names.length > MOST_NAMED ? ", …" : "");
}

/** Long enough for a server that wakes up. */
const ASK_MS = 15_000;

/** The names of a generator's models; null where it cannot be asked. @throws ImggenError, UsageError */
export async function modelNames(
  own: OwnGenerator,
  { env, clock }: Pick<ClientSession["context"], "env" | "clock">,
): Promise<string[] | null> {
  requireKey(own);
  const { spec, options } = own;
  const check = spec.kind === "command" ? "Check the path of its program." : SERVER_CHECK;
  const hint = `Nothing was charged. ${check}`;
  const generator = await openGenerator(spec, options, { env, clock, proxies: proxiesFromEnvironment(env) });
  try {
    return await generator.models(AbortSignal.timeout(ASK_MS));
  } catch (error) {
    if (error instanceof GeneratorError) throw failureOf(error, hint);
    if (!(error instanceof Error) || error.name !== "TimeoutError") throw error;
    throw new NetworkError(`${spec.name} does not answer.`, { hint, cause: error });
  } finally {
    await generator.close();
  }
}

const SERVER_CHECK = "Is it running, and is its address right?";

/** What a generator's failure means where nothing was asked to be made. @param hint for one that cannot be reached */
function failureOf(error: GeneratorError, hint: string): ImggenError {
  const { failure, message } = error;
  if (failure.kind === "unreachable") return new NetworkError(message, { hint, cause: error });
  const facts = { hint: "Nothing was charged.", cause: error };
  if (failure.kind !== "account") return new ServiceError(message, facts);
  const Refusal = failure.key === "login_required" ? AuthRequiredError : InsufficientCreditsError;
  return new Refusal(message, facts);
}

/** An error of imggen's own as a value; any other is thrown. */
export function asFailure(error: unknown): ImggenError {
  if (error instanceof ImggenError) return error;
  throw error;
}
