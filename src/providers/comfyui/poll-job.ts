import { TransportError } from "../../api/transport.ts";
import { errorText } from "../../lib/error-text.ts";
import { fieldsOf, isJsonObject } from "../../lib/json.ts";
import { inOneLine } from "../../lib/short-text.ts";
import { clauseOf, errorOf, failedPoll } from "../failures.ts";
import { finishedState, withReply } from "../job-poll.ts";
import { type PolledState, type PollHow, type PollReply, ProviderError } from "../provider.ts";
import type { ProviderServer } from "../provider-http.ts";
import type { ComfyServer, HistoryEntry } from "./comfy-server.ts";
import { nodesTitled, OUTPUT_TITLE, titleOf } from "./graph.ts";

/** Default time limit of a poll, in milliseconds. */
const POLL_MS = 15_000;

/** Polls a job once. Never throws. */
export async function pollJob(jobId: string, server: ComfyServer, how: PollHow): Promise<PollReply> {
  const limit = AbortSignal.timeout(Math.ceil(how.timeoutMs ?? POLL_MS));
  try {
    const found = await server.find(jobId, AbortSignal.any([how.signal, limit]), true);
    if (found === null) return missing(jobId, server);
    const task = stateOf(found, server.http);
    return { outcome: "state", task: await withReply(task, JSON.stringify(found), how) };
  } catch (error) {
    return unanswered(error, how.job.isPaid);
  }
}

/** No end of the job, unless it was taken out of the queue: one that is asked for too early is not there yet. */
function missing(jobId: string, server: ComfyServer): PollReply {
  if (server.isRemoved(jobId)) return { outcome: "state", task: failed("It was taken out of the queue.") };
  const why = `${server.http.host} no longer knows the job: it was restarted, or the job was removed from its queue`;
  return failedPoll(why, { isMissing: true });
}

function stateOf(found: NonNullable<Awaited<ReturnType<ComfyServer["find"]>>>, http: ProviderServer) {
  switch (found.place) {
    case "waiting":
      return { status: "running", word: "queued", ahead: found.ahead, isWaiting: true } as const;
    case "running":
      return { status: "running", word: "running", ahead: 0 } as const;
    case "ended":
      return endOf(found.entry, http);
  }
}

function endOf(entry: HistoryEntry, http: ProviderServer): PolledState {
  const why = failureIn(entry);
  if (why !== null) return failed(http.mask(why));
  const urls = imagesOf(entry).map(({ filename, subfolder, type }) =>
    http.urlBelow(`/view?${new URLSearchParams({ filename, subfolder, type })}`),
  );
  return finishedState(http, urls, null, { ...entry, graph: Object.fromEntries(entry.graph) });
}

function failed(why: string): PolledState {
  return { status: "failed", errorCode: null, why };
}

/** The result of a poll without ComfyUI's word on the job. One that is paid for is missing if another server has answered. */
function unanswered(error: unknown, isPaid: boolean): PollReply {
  const { failure, cause } = error instanceof ProviderError ? error : { failure: null, cause: error };
  if (error instanceof ProviderError && failure?.kind === "account")
    return { outcome: "refused", error: errorOf(error) };
  const connectionError = cause instanceof TransportError ? cause : null;
  const isBusy = failure?.kind === "busy";
  const isAnswered = failure !== null && connectionError === null && !isBusy;
  return failedPoll(clauseOf(errorText(error)), {
    rateLimited: isBusy,
    retryAfterMs: isBusy ? failure.retryAfterMs : null,
    connectionError,
    ...(isPaid && isAnswered && { isMissing: true }),
  });
}

/** An image at the server. */
interface ServerImage {
  filename: string;
  subfolder: string;
  type: string;
}

/**
 * The images of the node that is the result: the one titled `output`, else the first with images that the server keeps,
 * else the first with any.
 */
function imagesOf({ outputs, graph }: HistoryEntry): ServerImage[] {
  const [titled] = nodesTitled(graph, OUTPUT_TITLE);
  const nodes = titled === undefined ? Object.values(outputs) : [outputs[titled[0]]];
  const images = nodes.map(imagesIn).filter((each) => each.length > 0);
  const kept = images.map((each) => each.filter(({ type }) => type === "output"));
  return kept.find((each) => each.length > 0) ?? images[0] ?? [];
}

/** The files of a node: its images, else those of any other kind, such as `gifs` of a node that saves videos. */
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

const MAX_WORDS = 500;

/** The reason why a job failed, as a sentence; null for a job that did not fail. */
function failureIn({ status, graph }: HistoryEntry): string | null {
  if (status.status_str !== "error") return null;
  const messages = Array.isArray(status.messages) ? status.messages.filter(Array.isArray) : [];
  const factsOf = (kind: string) => messages.find(([name]) => name === kind)?.[1];
  const error = factsOf("execution_error");
  if (!isJsonObject(error))
    return factsOf("execution_interrupted") === undefined
      ? "It failed, and the server does not say why."
      : "It was cancelled at the server.";
  const { node_id, node_type, exception_message } = error;
  const node = graph.get(String(node_id));
  const name = node ? titleOf(node) : String(node_type ?? "a node");
  const said = typeof exception_message === "string" ? exception_message : "no reason was given";
  const why = inOneLine(said).replace(/\.$/, "").slice(0, MAX_WORDS);
  return `The node ${JSON.stringify(name)} (${node_id ?? ""}) of class ${node_type} failed: ${why}.`;
}
