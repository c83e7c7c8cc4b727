import { TransportError } from "../../api/transport.ts";
import { errorText } from "../../lib/error-text.ts";
import { replyWithoutImage } from "../failed-reply.ts";
import { clauseOf, errorOf, failedPoll } from "../failures.ts";
import { keptResult } from "../kept-result.ts";
import { Polls } from "../polls.ts";
import { type Job, type PolledState, type PollReply, ProviderError } from "../provider.ts";
import type { ProviderServer } from "../provider-http.ts";
import type { ComfyServer } from "./comfy-server.ts";
import { failureIn, type HistoryEntry, imagesOf } from "./outputs.ts";

/** Polls a job once. Never throws. */
export async function pollJob(
  jobId: string,
  server: ComfyServer,
  http: ProviderServer,
  signal: AbortSignal,
): Promise<PollReply> {
  try {
    return { outcome: "state", task: await stateOf(jobId, server, http, signal) };
  } catch (error) {
    return unanswered(error);
  }
}

async function stateOf(
  jobId: string,
  server: ComfyServer,
  http: ProviderServer,
  signal: AbortSignal,
): Promise<PolledState> {
  // The queue holds the workflows of all its jobs, so the history is asked first.
  const entry = await server.ended(jobId, signal);
  const found = entry === null ? await server.find(jobId, signal) : { place: "ended" as const, entry };
  switch (found?.place) {
    case undefined: {
      const why = `${server.host} no longer knows the job: it was restarted, or the job was removed from its queue.`;
      return { status: "failed", errorCode: null, why };
    }
    case "waiting":
      return { status: "running", word: "queued", ahead: found.ahead };
    case "running":
      return { status: "running", word: "running", ahead: 0 };
    case "ended":
      return endOf(found.entry, server, http);
  }
}

function endOf(entry: HistoryEntry, server: ComfyServer, http: ProviderServer): PolledState {
  const why = failureIn(entry);
  if (why !== null) return { status: "failed", errorCode: null, why: http.mask(why) };
  const urls = imagesOf(entry).map((image) => server.urlOf(image));
  return new Polls(http).finished(urls, undefined, entry);
}

/** The error for a finished job without an image, which is known from what was kept of it. */
export async function withoutImage(
  { folder, isPaid }: Pick<Job, "folder" | "isPaid">,
  http: ProviderServer,
): Promise<ProviderError> {
  const { said } = await keptResult({ folder });
  const message = `The workflow ended at ${http.host} without an image of its output node.`;
  return new ProviderError(message, replyWithoutImage(said, http.asked(isPaid)).failure);
}

/** What a poll without an answer means: a definite no, or one that may be sent again. */
function unanswered(error: unknown): PollReply {
  const kind = error instanceof ProviderError ? error.failure.kind : null;
  if (error instanceof ProviderError && (kind === "account" || kind === "invalid" || kind === "refused"))
    return { outcome: "refused", error: errorOf(error) };
  const { failure, cause } = error instanceof ProviderError ? error : { failure: null, cause: error };
  return failedPoll(clauseOf(errorText(error)), {
    rateLimited: kind === "busy",
    retryAfterMs: failure?.kind === "busy" ? failure.retryAfterMs : null,
    connectionError: cause instanceof TransportError ? cause : null,
  });
}
