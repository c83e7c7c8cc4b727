import { createHash } from "node:crypto";
import path from "node:path";
import { guardedLookup, isLoopbackHost } from "../api/address.ts";
import { HttpClient } from "../api/http-client.ts";
import { proxiesFromEnvironment } from "../api/proxies.ts";
import type { GeneratorConnection } from "../core/engine/deps.ts";
import { Line } from "../core/limits/turns.ts";
import { keyFingerprint } from "../lib/fingerprint.ts";
import { keyMasker, secretsMasker } from "../lib/redact.ts";
import { pictureDimensions } from "../models/dimensions.ts";
import { errorOf } from "../providers/failures.ts";
import type { GeneratorOptions } from "../providers/kind.ts";
import { type GeneratorSpec, openProvider } from "../providers/kinds.ts";
import { type Prepared, ProviderError } from "../providers/provider.ts";
import { placeOf } from "../providers/spec.ts";
import type { IntentTerms, JobOptions } from "../task/intent.ts";
import { GENERATOR_KEY_ID } from "../task/intent.ts";
import { ANY_MODEL, type GenerationRequest } from "../task/request.ts";
import type { FieldNames } from "../task/request-fields.ts";
import { newTaskId } from "../task/task-id.ts";
import type { ClientSession } from "./client-session.ts";
import { requireKey } from "./generator-key.ts";
import type { OwnGenerator } from "./generator-settings.ts";
import { workflowsFolder } from "./user-folders.ts";

// Loaded only where there is a generator.

/** How long a turn lasts beyond the time limit of its request. */
const TURN_MARGIN_MS = 60_000;

/** A lease lasts a day at most, and a request's turn a little longer than the request. */
const LONGEST_REQUEST_MS = 23 * 3_600_000;

/** Opens the user's own generator. Nothing is sent or run. @throws AuthRequiredError without a key that is needed */
export async function openGenerator(
  generator: OwnGenerator,
  session: ClientSession,
): Promise<{ connection: GeneratorConnection; close: () => Promise<void> }> {
  requireKey(generator);
  const { spec, options } = generator;
  const { env, clock } = session.context;
  const { onExchange } = session;
  const proxies = proxiesFromEnvironment(env);
  const cacheFolder = path.join(session.folders.state, "models");
  const workflows = workflowsFolder(session.folders);
  const provider = await openProvider(spec, options, {
    env,
    clock,
    proxies,
    onExchange,
    cacheFolder,
    workflows,
  });
  const serviceUrl = new URL(spec.kind === "command" ? "http://localhost" : spec.url);
  const downloads = new HttpClient({
    proxies: isLoopbackHost(serviceUrl.hostname) ? undefined : proxies,
    onExchange,
    lookup: guardedLookup(serviceUrl.hostname),
  });
  let prepared: Prepared = { isPaid: false };
  const prepare = async (signal: AbortSignal) => {
    prepared = (await provider.prepare?.(signal).catch(asNamed)) ?? prepared;
  };
  const connection: GeneratorConnection = {
    identity: {
      baseUrl: spec.name,
      keyId: options.key === null ? GENERATOR_KEY_ID : keyFingerprint(options.key),
    },
    provider,
    downloads,
    serviceUrl,
    maskKey: keyMasker(options.key ?? ""),
    termsFor: (request) => termsFor(request, options, prepared),
    maskUrl: secretsMasker(options.key, options.headers),
    generator: {
      name: spec.name,
      package: options.package,
      ...(provider.prepare && { prepare }),
      line: lineOf(spec, options, session),
    },
  };
  return { connection, close: async () => void (await Promise.all([provider.close(), downloads.close()])) };
}

/** A provider's error as one for the user; any other is thrown as it is. */
function asNamed(error: unknown): never {
  throw error instanceof ProviderError ? errorOf(error) : error;
}

/** The line before one server or command, over all processes of this state folder. */
function lineOf(
  spec: GeneratorSpec,
  { concurrency, timeoutMs }: GeneratorOptions,
  { folders, context }: ClientSession,
): Line {
  const digest = createHash("sha256").update(placeOf(spec)).digest("hex").slice(0, 16);
  const limits = { concurrency, forMs: timeoutMs + TURN_MARGIN_MS };
  return new Line(path.join(folders.state, "turns", digest), limits, context);
}

/** The generator-only fields of a request, under the generator's names. */
function sentFields(
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
    // A seed that is not counted up is a field like any other.
    ...(hasSeed && maxImages > 1 && { seedField }),
  };
}

/** What a new task is worth as the generator is set up now, and what makes its images. */
export function termsFor(
  request: GenerationRequest,
  options: GeneratorOptions,
  prepared: Prepared = { isPaid: false },
): IntentTerms {
  const { ratio, quality, model, maxImages = 1 } = request;
  const { timeoutMs, sidePx, sizeForm, fieldNames, package: made } = options;
  const { workflow } = prepared;
  return {
    taskId: newTaskId(),
    isPaid: options.isPaid || prepared.isPaid,
    requests: maxImages,
    requestMs: Math.min(timeoutMs, LONGEST_REQUEST_MS),
    options: {
      model: model === ANY_MODEL ? null : model,
      ...pictureDimensions(ratio, quality, sidePx),
      sizeForm,
      ...sentFields(request, fieldNames),
      ...(made !== undefined && { package: made }),
      ...(workflow !== undefined && { workflow }),
    },
  };
}
