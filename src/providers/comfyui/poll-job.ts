import { TransportError } from "../../api/transport.ts";
import { errorText } from "../../lib/error-text.ts";
import { replyWithoutImage } from "../failed-reply.ts";
import { clauseOf, errorOf, failedPoll } from "../failures.ts";
import { keptResult } from "../kept-result.ts";
import { Polls } from "../polls.ts";
import { type Job, type PolledState, type PollReply, ProviderError } from "../provider.ts";
import type { ProviderServer } from "../provider-http.ts";
import type { ComfyServer } from "./comfy-server.ts";
import type { MissingJobs } from "./missing-jobs.ts";
import { failureIn, type HistoryEntry, imagesOf } from "./outputs.ts";

interface PollContext {
  server: ComfyServer;
  http: ProviderServer;
  missing: MissingJobs;
}

/** Polls a job once. Never throws. */
export async function pollJob(jobId: string, context: PollContext, signal: AbortSignal): Promise<PollReply> {
  try {
    return await stateOf(jobId, context, signal);
  } catch (error) {
    context.missing.reset(jobId);
    return unanswered(error);
  }
}

async function stateOf(
  jobId: string,
  { server, http, missing }: PollContext,
  signal: AbortSignal,
): Promise<PollReply> {
  // The queue holds the workflows of all its jobs, so the history is asked first.
  const entry = await server.ended(jobId, signal);
  const found = entry === null ? await server.find(jobId, signal) : { place: "ended" as const, entry };
  if (found === null) {
    const why = `${server.host} no longer knows the job: it was restarted, or the job was removed from its queue`;
    if (!missing.isGone(jobId)) return failedPoll(why, { isMissing: true });
    return { outcome: "state", task: { status: "failed", errorCode: null, why: `${why}.` } };
  }
  missing.reset(jobId);
  switch (found.place) {
    case "waiting":
      return { outcome: "state", task: { status: "running", word: "queued", ahead: found.ahead } };
    case "running":
      return { outcome: "state", task: { status: "running", word: "running", ahead: 0 } };
    case "ended":
      return { outcome: "state", task: endOf(found.entry, server, http) };
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
  const said = (await keptResult({ folder }))?.said ?? "";
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
