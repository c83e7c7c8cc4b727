import { TransportError } from "../../api/transport.ts";
import { errorText } from "../../lib/error-text.ts";
import { fieldsOf, isJsonObject } from "../../lib/json.ts";
import { collapseWhitespace } from "../../lib/short-text.ts";
import { failedPoll, toClause, toImggenError } from "../failures.ts";
import { finishedState, withReply } from "../job-poll.ts";
import { type PolledState, type PollOptions, type PollReply, ProviderError } from "../provider.ts";
import type { ProviderServer } from "../provider-http.ts";
import type { ComfyServer, HistoryEntry, ServerJob } from "./comfy-server.ts";
import { nodesTitled, nodeTitle, OUTPUT_TITLE } from "./graph.ts";

const POLL_MS = 15_000;

/** Never throws. */
export async function pollJob(
  jobId: string,
  server: ComfyServer,
  pollOptions: PollOptions,
): Promise<PollReply> {
  const limit = AbortSignal.timeout(Math.ceil(pollOptions.timeoutMs ?? POLL_MS));
  const signal = AbortSignal.any([pollOptions.signal, limit]);
  try {
    const job = await server.find(jobId, signal, true);
    if (job === null) return missingJob(jobId, server);
    const task = await jobState(job, server.http, signal);
    return { outcome: "state", task: await withReply(task, JSON.stringify(job), pollOptions) };
  } catch (error) {
    return toFailedPoll(error, pollOptions.job.isPaid);
  }
}

/** A missing job counts as failed only if imggen removed it, because the server might not list a new job yet. */
function missingJob(jobId: string, server: ComfyServer): PollReply {
  if (server.isRemoved(jobId))
    return { outcome: "state", task: failedState("It was removed from the queue.") };
  const why = `${server.http.host} no longer has the job: the server was restarted, or the job was removed from its queue`;
  return failedPoll(why, { isMissing: true });
}

async function jobState(job: ServerJob, http: ProviderServer, signal: AbortSignal): Promise<PolledState> {
  switch (job.state) {
    case "waiting":
      return { status: "running", providerState: "queued", ahead: job.ahead, isWaiting: true };
    case "running":
      return { status: "running", providerState: "running", ahead: 0 };
    case "ended":
      return finalState(job.entry, http, signal);
  }
}

async function finalState(
  entry: HistoryEntry,
  http: ProviderServer,
  signal: AbortSignal,
): Promise<PolledState> {
  const why = failureIn(entry);
  if (why !== null) return failedState(http.mask(why));
  const { images, isCached } = outputImages(entry);
  const missingImage = isCached ? await missingFile(images, http, signal) : null;
  if (missingImage !== null) return failedState(http.mask(missingImage));
  const urls = images.map((image) => http.urlBelow(viewPath(image)));
  return finishedState(http, urls, null, { ...entry, graph: Object.fromEntries(entry.graph) });
}

function viewPath({ filename, subfolder, type }: ServerImage): string {
  return `/view?${new URLSearchParams({ filename, subfolder, type })}`;
}

/** ComfyUI reuses a cached result without checking that its file still exists. @throws as `ProviderServer.get` */
async function missingFile(
  images: readonly ServerImage[],
  http: ProviderServer,
  signal: AbortSignal,
): Promise<string | null> {
  for (const image of images) {
    const { status } = await http.get(viewPath(image), signal, undefined, 1);
    if (status !== 404) continue;
    const file = collapseWhitespace(image.filename).slice(0, MAX_REASON);
    return `ComfyUI reused the cached image of an earlier job, but its file ${file} no longer exists. Clear ComfyUI's cache (POST /free), or use another seed.`;
  }
  return null;
}

function failedState(why: string): PolledState {
  return { status: "failed", errorCode: null, why };
}

/** A paid job counts as missing if a reply arrived that contains no state. */
function toFailedPoll(error: unknown, isPaid: boolean): PollReply {
  const { failure, cause } = error instanceof ProviderError ? error : { failure: null, cause: error };
  if (error instanceof ProviderError && failure?.kind === "account")
    return { outcome: "refused", error: toImggenError(error) };
  const connectionError = cause instanceof TransportError ? cause : null;
  const isBusy = failure?.kind === "busy";
  const isAnswered = failure !== null && connectionError === null && !isBusy;
  return failedPoll(toClause(errorText(error)), {
    rateLimited: isBusy,
    retryAfterMs: isBusy ? failure.retryAfterMs : null,
    connectionError,
    ...(isPaid && isAnswered && { isMissing: true }),
  });
}

interface ServerImage {
  filename: string;
  subfolder: string;
  type: string;
}

/** Selects the images of the node titled `output`, else of the first node with saved images, else with any images. */
function outputImages({ outputs, graph, status }: HistoryEntry): {
  images: ServerImage[];
  isCached: boolean;
} {
  const [titled] = nodesTitled(graph, OUTPUT_TITLE);
  const ids = titled === undefined ? Object.keys(outputs) : [titled[0]];
  const nodes = ids.map((id) => ({ id, images: imagesIn(outputs[id]) }));
  const savedImages = nodes.map(({ id, images }) => ({
    id,
    images: images.filter(({ type }) => type === "output"),
  }));
  const node = [...savedImages, ...nodes].find(({ images }) => images.length > 0);
  const { nodes: cached } = findMessage(status, "execution_cached");
  const isCached = Array.isArray(cached) && cached.some((id) => String(id) === node?.id);
  return { images: node?.images ?? [], isCached };
}

/** Returns a node's images. For a node without `images`, returns its other files, such as the `gifs` of a video. */
function imagesIn(output: unknown): ServerImage[] {
  const { images, ...others } = fieldsOf(output);
  const files = filesIn(images);
  return files.length > 0 ? files : Object.values(others).flatMap(filesIn);
}

function filesIn(list: unknown): ServerImage[] {
  if (!Array.isArray(list)) return [];
  return list
    .filter(isJsonObject)
    .flatMap(({ filename, subfolder = "", type = "output" }) =>
      typeof filename === "string" && typeof subfolder === "string" && typeof type === "string"
        ? [{ filename, subfolder, type }]
        : [],
    );
}

function findMessage({ messages }: HistoryEntry["status"], kind: string): Readonly<Record<string, unknown>> {
  const message = Array.isArray(messages)
    ? messages.find((each) => Array.isArray(each) && each[0] === kind)
    : [];
  return fieldsOf(message?.[1]);
}

const MAX_REASON = 500;

/** Returns null if the job did not fail. */
function failureIn({ status, graph }: HistoryEntry): string | null {
  if (status.status_str !== "error") return null;
  const error = findMessage(status, "execution_error");
  if (Object.keys(error).length === 0)
    return Object.keys(findMessage(status, "execution_interrupted")).length === 0
      ? "It failed, and the server gave no reason."
      : "It was cancelled at the server.";
  const { node_id, node_type, exception_message } = error;
  const node = graph.get(String(node_id));
  const name = node ? nodeTitle(node) : String(node_type ?? "a node");
  const reason = typeof exception_message === "string" ? exception_message : "no reason was given";
  const why = collapseWhitespace(reason).replace(/\.$/, "").slice(0, MAX_REASON);
  return `The node ${JSON.stringify(name)} (${node_id ?? ""}) of class ${node_type} failed: ${why}.`;
}
