import path from "node:path";
import { proxiesFromEnvironment } from "../../../api/proxies.ts";
import type { ClientSession } from "../../../client/client-session.ts";
import { termsFor } from "../../../client/generator-connection.ts";
import type { OwnGenerator } from "../../../client/generator-settings.ts";
import { unsupportedPart } from "../../../core/engine/jobs.ts";
import { InvalidRequestError } from "../../../models/invalid-request.ts";
import { isLocalFile } from "../../../models/rules/images.ts";
import { errorOf } from "../../../providers/failures.ts";
import { openProvider } from "../../../providers/kinds.ts";
import {
  type Job,
  type Prepared,
  type Provider,
  ProviderError,
  type SentRequest,
} from "../../../providers/provider.ts";
import type { GenerationRequest } from "../../../task/request.ts";

/** The request as the user's own generator would receive it. */
export interface DescribedRequest {
  /** The first request; null if its provider does not show it. */
  sent: SentRequest | null;
  /** Number of requests. */
  requests: number;
}

type DescribingSession = Pick<ClientSession, "context" | "folders">;

/**
 * Describes the request to the user's own generator, for people to read. No connection is opened.
 * @param request its reference images as the user gave them
 * @throws InvalidRequestError for an option that the generator does not support
 */
export function describedRequest(
  request: GenerationRequest,
  generator: OwnGenerator,
  session: DescribingSession,
): Promise<DescribedRequest> {
  return withProvider(generator, session, async (provider, prepared) => {
    const { job, requests } = supportedJob(request, generator, provider, prepared);
    return { sent: (await provider.describe?.(job)) ?? null, requests };
  });
}

/**
 * Checks requests as each is checked before it is sent. No connection is opened.
 * @param requests by their names in messages @throws InvalidRequestError
 */
export function requireSupported(
  requests: readonly (readonly [name: string, GenerationRequest])[],
  generator: OwnGenerator,
  session: DescribingSession,
): Promise<void> {
  return withProvider(generator, session, async (provider, prepared) => {
    for (const [name, request] of requests) supportedJob(request, generator, provider, prepared, `${name}: `);
  });
}

async function withProvider<Result>(
  { spec, options }: OwnGenerator,
  { context, folders }: DescribingSession,
  use: (provider: Provider, prepared: Prepared | undefined) => Promise<Result>,
): Promise<Result> {
  const { env, clock } = context;
  const cacheFolder = path.join(folders.state, "models");
  const deps = { env, clock, proxies: proxiesFromEnvironment(env), cacheFolder };
  const provider = await openProvider(spec, options, deps);
  try {
    return await use(provider, await provider.prepare?.(null));
  } catch (error) {
    throw error instanceof ProviderError ? errorOf(error) : error;
  } finally {
    await provider.close();
  }
}

function supportedJob(
  request: GenerationRequest,
  { options }: OwnGenerator,
  provider: Provider,
  prepared: Prepared | undefined,
  prefix = "",
): { job: Job; requests: number } {
  const references = [request.image ?? []].flat().map(referenceOf);
  const { taskId, isPaid, requests, options: work } = termsFor(request, options, prepared);
  const job = { request, taskId: taskId ?? "", index: 0, isPaid, options: work, references, folder: "" };
  const why = unsupportedPart(job, provider);
  if (why !== null) throw new InvalidRequestError(`${prefix}${why}`, { hint: "Nothing was sent." });
  return { job, requests };
}

function referenceOf(image: string) {
  return isLocalFile(image) ? { file: image, mediaType: "image/*" } : { url: image };
}
