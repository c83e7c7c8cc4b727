import path from "node:path";
import { proxiesFromEnvironment } from "../../../api/proxies.ts";
import type { ClientSession } from "../../../client/client-session.ts";
import { workFor } from "../../../client/generator-connection.ts";
import type { OwnGenerator } from "../../../client/generator-settings.ts";
import { InvalidRequestError } from "../../../models/invalid-request.ts";
import { isLocalFile } from "../../../models/rules/images.ts";
import { errorOf } from "../../../providers/failures.ts";
import { openProvider } from "../../../providers/kinds.ts";
import { ProviderError, type SentRequest } from "../../../providers/provider.ts";
import type { GenerationRequest } from "../../../task/request.ts";

/** The request as the user's own generator would receive it. */
export interface DescribedRequest {
  /** The first request; null if its provider does not show it. */
  sent: SentRequest | null;
  /** Number of requests. */
  requests: number;
}

/**
 * Describes the request to the user's own generator, for people to read. No connection is opened.
 * @param request its reference images as the user gave them
 * @throws InvalidRequestError for an option that the generator does not support
 */
export async function describedRequest(
  request: GenerationRequest,
  { spec, options }: OwnGenerator,
  { context, folders }: Pick<ClientSession, "context" | "folders">,
): Promise<DescribedRequest> {
  const { env, clock } = context;
  const cacheFolder = path.join(folders.state, "models");
  const deps = { env, clock, proxies: proxiesFromEnvironment(env), cacheFolder };
  const provider = await openProvider(spec, options, deps);
  const references = [request.image ?? []].flat().map(referenceOf);
  try {
    const prepared = await provider.prepare?.(null);
    const { taskId, isPaid, requests, options: work } = workFor(request, options, prepared);
    const job = { request, taskId: taskId ?? "", index: 0, isPaid, options: work, references, folder: "" };
    const why = provider.check?.(job) ?? null;
    if (why !== null) throw new InvalidRequestError(why, { hint: "Nothing was sent." });
    return { sent: (await provider.describe?.(job)) ?? null, requests };
  } catch (error) {
    throw error instanceof ProviderError ? errorOf(error) : error;
  } finally {
    await provider.close();
  }
}

function referenceOf(image: string) {
  return isLocalFile(image) ? { file: image, mediaType: "image/*" } : { url: image };
}
