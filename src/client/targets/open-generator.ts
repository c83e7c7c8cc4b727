import { createHash } from "node:crypto";
import path from "node:path";
import { guardedLookup, isLoopbackHost } from "../../api/address.ts";
import { NetworkError } from "../../api/api-errors.ts";
import { HttpClient, withMaskedUrls } from "../../api/http-client.ts";
import { proxiesFromEnvironment } from "../../api/proxies.ts";
import type { GeneratorConnection } from "../../core/engine/deps.ts";
import { Queue } from "../../core/limits/turns.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { keyFingerprint } from "../../lib/fingerprint.ts";
import { keyMasker, secretsMasker } from "../../lib/redact.ts";
import { includesModel } from "../../models/check-request.ts";
import { pictureDimensions } from "../../models/dimensions.ts";
import { toImggenError } from "../../providers/failures.ts";
import type { GeneratorOptions, ProviderDeps } from "../../providers/kind.ts";
import { type GeneratorSpec, openProvider } from "../../providers/kinds.ts";
import { type Prepared, type Provider, ProviderError } from "../../providers/provider.ts";
import { queueKey } from "../../providers/spec.ts";
import {
  GENERATOR_KEY_ID,
  type IntentTerms,
  type JobOptions,
  type ServiceIdentity,
} from "../../task/intent.ts";
import { ANY_MODEL, type GenerationRequest } from "../../task/request.ts";
import type { FieldNames } from "../../task/request-fields.ts";
import { newTaskId } from "../../task/task-id.ts";
import { requireKey, type UserGenerator } from "../generator-settings.ts";
import { modelsFolder, workflowsFolder } from "../user-folders.ts";
import type { OfferedModels, OpenTarget, TargetSession } from "./target.ts";

const QUERY_TIMEOUT_MS = 15_000;

/** @throws ImggenError, UsageError */
export function fetchOfferedModels(
  generator: UserGenerator,
  session: QuerySession,
  timeoutMs = QUERY_TIMEOUT_MS,
): Promise<OfferedModels> {
  const query = async (provider: Provider, signal: AbortSignal) => {
    const [names = null, loaded = null] = await Promise.all([
      provider.models?.(signal),
      provider.loadedModel?.(signal),
    ]);
    const listedName = loaded && names?.find((name) => includesModel([loaded], name));
    return { names, loaded: listedName ?? loaded, needsName: provider.loadedModel === undefined };
  };
  return queryGenerator(generator, session, query, timeoutMs);
}

export type QuerySession = Pick<TargetSession, "context" | "onExchange">;

/** Creates a provider, but sends no request and runs no command. @param taskDeps dependencies that only tasks need */
export function createProvider(
  { spec, options }: UserGenerator,
  { context: { env, clock }, onExchange }: QuerySession,
  taskDeps: Pick<ProviderDeps, "cacheFolder" | "workflows" | "packageKeys"> = {},
): Promise<Provider> {
  const proxies = proxiesFromEnvironment(env);
  return openProvider(spec, options, { env, clock, proxies, onExchange, ...taskDeps });
}

/** Converts a ProviderError to an ImggenError. Other errors are rethrown. */
export function throwAsImggenError(error: unknown): never {
  throw error instanceof ProviderError ? toImggenError(error) : error;
}

/** @throws ImggenError, UsageError */
export async function queryGenerator<Answer>(
  generator: UserGenerator,
  session: QuerySession,
  query: (provider: Provider, signal: AbortSignal) => Promise<Answer>,
  timeoutMs = QUERY_TIMEOUT_MS,
): Promise<Answer> {
  requireKey(generator);
  const { spec } = generator;
  const check = spec.kind === "command" ? "Check the path of its program." : SERVER_CHECK;
  const hint = `Nothing was charged. ${check}`;
  const provider = await createProvider(generator, session);
  try {
    return await query(provider, AbortSignal.timeout(timeoutMs));
  } catch (error) {
    if (error instanceof ProviderError && error.failure.kind === "unsent")
      throw new NetworkError(error.message, { hint: error.hint ?? hint, cause: error });
    if (error instanceof Error && error.name === "TimeoutError")
      throw new NetworkError(`${spec.name} does not answer.`, { hint, cause: error });
    throwAsImggenError(error);
  } finally {
    await provider.close();
  }
}

const SERVER_CHECK = "Is it running, and is its address right?";

export function returnImggenError(error: unknown): ImggenError {
  if (error instanceof ImggenError) return error;
  throw error;
}

const TURN_MARGIN_MS = 60_000;

export interface OpenGenerator extends OpenTarget {
  connection: GeneratorConnection;
}

/** Opens a generator, but sends and runs nothing. @throws AuthRequiredError if its key is missing */
export async function openGenerator(
  generator: UserGenerator,
  session: TargetSession,
): Promise<OpenGenerator> {
  requireKey(generator);
  const { spec, options } = generator;
  const { folders, context } = session;
  const maskUrl = secretsMasker(options.key, options.headers);
  const onExchange = withMaskedUrls(session.onExchange, maskUrl);
  const packageKeys = spec.kind === "command" ? await readPackageKeys(folders.config) : [];
  const provider = await createProvider(
    generator,
    { context, onExchange },
    { cacheFolder: modelsFolder(folders), workflows: workflowsFolder(folders), packageKeys },
  );
  const serviceUrl = new URL(spec.kind === "command" ? "http://localhost" : spec.url);
  const downloads = new HttpClient({
    proxies: isLoopbackHost(serviceUrl.hostname) ? undefined : proxiesFromEnvironment(session.context.env),
    onExchange,
    lookup: guardedLookup(serviceUrl.hostname),
  });
  let prepared: Prepared = { isPaid: false };
  const prepare = async (signal: AbortSignal) => {
    prepared = (await provider.prepare?.(signal).catch(throwAsImggenError)) ?? prepared;
  };
  const connection: GeneratorConnection = {
    identity: generatorIdentity(generator),
    provider,
    downloads,
    serviceUrl,
    maskKey: keyMasker(options.key ?? ""),
    termsFor: (request) => termsFor(request, options, prepared),
    maskUrl,
    generator: {
      name: spec.name,
      package: options.package,
      ...(provider.prepare && { prepare }),
      queue: createGeneratorQueue(spec, options, session),
    },
  };
  return { connection, close: async () => void (await Promise.all([provider.close(), downloads.close()])) };
}

/** Shorter than a day, because a lease lasts at most a day, and the lease of a turn must outlast its request. */
const MAX_REQUEST_MS = 23 * 3_600_000;

/** Converts the seed, negative prompt and fields of a request to the generator's field names. */
function toProviderFields(
  { seed, negative, fields, maxImages = 1 }: GenerationRequest,
  { seed: seedField, negative: negativeField }: FieldNames,
): Pick<JobOptions, "fields" | "seedField"> {
  const hasSeed = seed !== undefined && seedField !== undefined;
  return {
    fields: {
      ...fields,
      ...(hasSeed && { [seedField]: seed }),
      ...(negative !== undefined && negativeField !== undefined && { [negativeField]: negative }),
    },
    ...(hasSeed && maxImages > 1 && { seedField }),
  };
}

export function termsFor(
  request: GenerationRequest,
  options: GeneratorOptions,
  prepared: Prepared = { isPaid: false },
): IntentTerms {
  const { ratio, quality, model, maxImages = 1 } = request;
  const { timeoutMs, sidePx, sizeForm, fieldNames, package: packageVersion } = options;
  const { workflow } = prepared;
  return {
    taskId: newTaskId(),
    isPaid: options.isPaid || prepared.isPaid,
    requests: maxImages,
    requestMs: Math.min(timeoutMs, MAX_REQUEST_MS),
    options: {
      model: model === ANY_MODEL ? null : model,
      ...pictureDimensions(ratio, quality, sidePx),
      sizeForm,
      ...toProviderFields(request, fieldNames),
      ...(packageVersion !== undefined && { package: packageVersion }),
      ...(workflow !== undefined && { workflow }),
    },
  };
}

export function generatorIdentity({ spec, options: { key } }: UserGenerator): ServiceIdentity {
  return { baseUrl: spec.name, keyId: key === null ? GENERATOR_KEY_ID : keyFingerprint(key) };
}

async function readPackageKeys(configFolder: string): Promise<string[]> {
  const { installedKeyVariables } = await import("../../providers/package/load.ts");
  return installedKeyVariables(configFolder);
}

/** The queue for one server or command, shared by all processes of this state folder. */
function createGeneratorQueue(
  spec: GeneratorSpec,
  { concurrency, timeoutMs }: GeneratorOptions,
  { folders, context }: TargetSession,
): Queue {
  const digest = createHash("sha256").update(queueKey(spec)).digest("hex").slice(0, 16);
  const limits = { concurrency, leaseMs: timeoutMs + TURN_MARGIN_MS };
  return new Queue(path.join(folders.state, "turns", digest), limits, context);
}
