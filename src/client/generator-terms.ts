import { NetworkError, ServiceError } from "../api/api-errors.ts";
import { proxiesFromEnvironment } from "../api/proxies.ts";
import { ImggenError, UsageError } from "../lib/error-types.ts";
import { listed } from "../lib/short-text.ts";
import { option, phrase } from "../lib/wording.ts";
import { type GeneratorTerms, isAmong } from "../models/check-request.ts";
import { errorOf } from "../providers/failures.ts";
import { defaultModelOf, knownModels, needsModel, openProvider } from "../providers/kinds.ts";
import { type Provider, ProviderError } from "../providers/provider.ts";
import { ANY_MODEL } from "../task/request.ts";
import type { ClientSession } from "./client-session.ts";
import { requireKey } from "./generator-key.ts";
import { type GeneratorSource, isSaidFree, type OwnGenerator } from "./generator-settings.ts";
import { ownGenerator } from "./own-generator.ts";

// Loaded only where there is a generator.

/** The terms of requests to a generator that is not asked for its models. */
export function termsUnasked(generator: OwnGenerator, source: GeneratorSource): GeneratorTerms {
  const defaultModel = modelSet(generator, source) ?? whereUnknown(generator);
  const isFree = !generator.options.isPaid;
  return { isFree, ...costTerms(generator, source), defaultModel, models: null, ...fieldTerms(generator) };
}

/** Terms for a client that cannot wait. @returns null without a generator */
export function termsFromSettings(source: GeneratorSource): GeneratorTerms | null {
  const setting = source.settings.generator();
  return setting === undefined ? null : termsUnasked(ownGenerator(setting, source), source);
}

/**
 * The terms of requests to a generator, which is asked for its models. Without a list, any model passes.
 * @param how.lasts whether the terms are for later requests too: another model may be loaded then, so none is the default
 */
export async function termsAsked(
  generator: OwnGenerator,
  source: GeneratorSource & AskingSession,
  { lasts = false } = {},
): Promise<GeneratorTerms> {
  // What is wrong matters only to a request that names no model.
  const offer = await modelsOffered(generator, source).catch(asFailure);
  const { names, loaded } = offer instanceof ImggenError ? { names: null, loaded: null } : offer;
  const current = lasts ? null : loaded;
  const defaultModel =
    modelSet(generator, source) ??
    (offer instanceof ImggenError ? offer : (current ?? onlyModel(generator, offer)));
  const isListed = loaded === null || names?.includes(loaded);
  const models = names === null ? null : [...names, ...(isListed ? [] : [loaded]), ...ownIds(generator)];
  const isFree = !(await isPaid(generator, source));
  return { isFree, ...costTerms(generator, source), defaultModel, models, ...fieldTerms(generator) };
}

function costTerms({ spec }: OwnGenerator, source: GeneratorSource) {
  return { isFreeByDefault: !isSaidFree(spec, source) };
}

/** The generator-only fields of requests: their names at the generator, and their defaults. */
export function fieldTerms({ options: { fieldNames, defaults } }: OwnGenerator) {
  return { fieldNames, defaults };
}

/** Whether images cost money. If the server cannot be asked about the workflow, an error says so before a request is sent. */
async function isPaid(generator: OwnGenerator, session: AskingSession): Promise<boolean> {
  if (generator.options.isPaid || generator.options.workflow === undefined) return generator.options.isPaid;
  const prepared = await asked(generator, session, async (provider, signal) =>
    provider.prepare?.(signal),
  ).catch(asFailure);
  return prepared !== undefined && "isPaid" in prepared && prepared.isPaid;
}

/** The ids that a known server takes beside its own names: those of the hosted service that fit its models. */
function ownIds({ spec }: OwnGenerator): string[] {
  return knownModels(spec).map(({ id }) => id);
}

/** What asking a generator depends on. */
export type AskingSession = Pick<ClientSession, "context" | "onExchange">;

/** The model that is set, or the generator's default. The setting `model` applies to the generator of the same config. */
function modelSet({ spec, options }: OwnGenerator, { settings }: GeneratorSource): string | null {
  if (options.model !== null) return options.model;
  const setting = settings.get("model");
  const isMeant = setting?.source === "environment" || settings.generator()?.source === "config";
  return (isMeant ? setting?.value : undefined) ?? defaultModelOf(spec);
}

const NAME_MODEL = [
  phrase`Nothing was sent. Add ${option("model")} <name>.`,
  phrase`To name it for all requests: ${option("generatorModel")}.`,
];

/** The only model of a generator. An error if it has no model, or several and one must be named. */
function onlyModel(generator: OwnGenerator, { names, needsName }: ModelsOffered): string | ImggenError {
  // A workflow has a model of its own.
  if (generator.options.workflow !== undefined) return ANY_MODEL;
  if (names === null) return whereUnknown(generator);
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined)
    return new ServiceError(`${generator.spec.name} has no model that makes images.`, { charged: "no" });
  if (!needsName) return ANY_MODEL;
  return new UsageError(`${generator.spec.name} has ${names.length} models, and none is chosen.`, {
    hint: [...NAME_MODEL, `It has: ${listed(names)}`],
  });
}

/** The model of a request that names none, if none is known: any that the generator has, or an error. */
function whereUnknown({ spec }: OwnGenerator): string | ImggenError {
  if (!needsModel(spec)) return ANY_MODEL;
  return new UsageError(`${spec.name} makes images with the model that is named, and none is.`, {
    hint: NAME_MODEL,
  });
}

/** Long enough for a server that wakes up. */
const ASK_MS = 15_000;

/** The names of a generator's models; null where it cannot be asked. @throws ImggenError, UsageError */
export async function modelNames(generator: OwnGenerator, session: AskingSession): Promise<string[] | null> {
  return (await asked(generator, session, async (provider, signal) => provider.models?.(signal))) ?? null;
}

/** What a generator says of its models. */
export interface ModelsOffered {
  /** Null if the generator has no list. */
  names: string[] | null;
  /** The model that it has loaded, as its list names it; null if none is, or it does not say. */
  loaded: string | null;
  /** Whether every request must name a model. */
  needsName: boolean;
}

/** Asks a generator for its models, and for the one that is loaded. @throws ImggenError, UsageError */
export function modelsOffered(
  generator: OwnGenerator,
  session: AskingSession,
  mostMs = ASK_MS,
): Promise<ModelsOffered> {
  const ask = async (provider: Provider, signal: AbortSignal) => {
    const [names = null, loaded = null] = await Promise.all([
      provider.models?.(signal),
      provider.loadedModel?.(signal),
    ]);
    const listed = loaded && names?.find((name) => isAmong([loaded], name));
    return { names, loaded: listed ?? loaded, needsName: provider.loadedModel === undefined };
  };
  return asked(generator, session, ask, mostMs);
}

/** Opens a generator for one question. @throws ImggenError, UsageError */
async function asked<Answer>(
  generator: OwnGenerator,
  { context: { env, clock }, onExchange }: AskingSession,
  ask: (provider: Provider, signal: AbortSignal) => Promise<Answer>,
  mostMs = ASK_MS,
): Promise<Answer> {
  requireKey(generator);
  const { spec, options } = generator;
  const check = spec.kind === "command" ? "Check the path of its program." : SERVER_CHECK;
  const hint = `Nothing was charged. ${check}`;
  const proxies = proxiesFromEnvironment(env);
  const provider = await openProvider(spec, options, { env, clock, proxies, onExchange });
  try {
    return await ask(provider, AbortSignal.timeout(mostMs));
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
