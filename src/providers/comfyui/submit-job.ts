import { createHash } from "node:crypto";
import path from "node:path";
import { fileSha256 } from "../../lib/file-digest.ts";
import { fieldsOf, isJsonObject } from "../../lib/json.ts";
import { collapseWhitespace, joinFirst, truncate } from "../../lib/short-text.ts";
import { replaceUnsynced } from "../../lib/write-whole.ts";
import { requestedSize } from "../../models/requested-size.ts";
import { type FailedReply, failedReply, type ReplySource } from "../failed-reply.ts";
import { runRequest, toClause } from "../failures.ts";
import type { ProviderDeps } from "../kind.ts";
import { formBody } from "../post-body.ts";
import { type Job, ProviderError, type SubmitOptions, type SubmitReply } from "../provider.ts";
import { type LocalReference, referenceFiles } from "../reference-files.ts";
import { parseLenientJson, parseReplyJson } from "../reply-json.ts";
import { chosenSeed } from "../seeds.ts";
import { isSuccess } from "../stored-reply.ts";
import type { ComfyServer } from "./comfy-server.ts";
import { type Graph, nodeName } from "./graph.ts";
import { assignInputs, fillWorkflow, jobValues } from "./placements.ts";
import type { Workflows } from "./workflow-file.ts";

export interface SubmitContext {
  server: ComfyServer;
  workflows: Workflows;
  deps: ProviderDeps & { generatorUrl: URL };
}

/** Bits of a UUID of version 8, whose content an application can choose (RFC 9562, section 5.8). */
const VERSION = 0x80;
const VARIANT = 0x80;

/** Derives a lower-case UUID from the task, so that the job can be found even if ComfyUI's reply was lost. */
export function toJobId({ taskId, index }: Pick<Job, "taskId" | "index">): string {
  const bytes = createHash("sha256").update(`comfyui:${taskId}:${index}`).digest().subarray(0, 16);
  bytes[6] = VERSION | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = VARIANT | ((bytes[8] ?? 0) & 0x3f);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Searches for the job if the reply was lost. Never throws. */
export async function submitJob(
  job: Job,
  submitOptions: SubmitOptions,
  context: SubmitContext,
): Promise<SubmitReply> {
  const reply = await runRequest(
    (onSent) => sendWorkflow(job, { ...submitOptions, onSent }, context),
    submitOptions.onSent,
  );
  if (reply.outcome !== "unknown") return reply;
  const recoveredReply = await recoverJob(job, submitOptions.signal, context);
  return recoveredReply?.outcome === "unknown" ? { ...reply, isAskable: true } : (recoveredReply ?? reply);
}

/** @throws ProviderError, or the signal's reason */
async function sendWorkflow(
  job: Job,
  submitOptions: SubmitOptions,
  { server, workflows, deps }: SubmitContext,
): Promise<SubmitReply> {
  const { signal } = submitOptions;
  const id = toJobId(job);
  // An earlier process might have submitted the job. ComfyUI would run it twice, because it queues the same id again.
  if ((await server.find(id, signal)) !== null) return { outcome: "accepted", taskId: id };
  const model = await resolveCheckpoint(job.options.model, server, signal);
  const files = job.references.length === 0 ? [] : await referenceFiles(job, { ...deps, signal });
  const images = await uploadImages(files, server, signal);
  const template = workflows.get(job.options);
  const size = requestedSize(job, files[0]?.file);
  const values = jobValues({ ...job, options: { ...job.options, model } }, images, size, chosenSeed(job));
  const { placements, unplaced } = assignInputs(template, values);
  if (unplaced.includes("prompt"))
    submitOptions.onWarning?.(
      "The workflow does not support a prompt, so the prompt has no effect on the image.",
    );
  const graph = fillWorkflow(template, placements);
  recordJob(id, job);
  const reply = await server.post(id, graph, job, submitOptions);
  if (!isSuccess(reply)) throw workflowRefusal(reply, graph, server.http.replySource(job.isPaid));
  const { prompt_id } = fieldsOf(parseReplyJson(reply));
  if (typeof prompt_id !== "string" || !/^[\w-]{1,100}$/.test(prompt_id))
    throw server.http.lost(reply.cut ?? "the reply contains no job id");
  return { outcome: "accepted", taskId: prompt_id };
}

/** Stores the job's id before the submit, so that the history does not list the job as lost after a crash. */
function recordJob(id: string, { folder }: Job): void {
  try {
    replaceUnsynced(path.join(folder, ".job"), id, 0o600);
  } catch {
    // A failure is ignored, because `resume` searches for the job even without this file.
  }
}

/** Interval and time limits of the search for a job whose reply was lost. */
const SEARCH_INTERVAL_MS = 2_000;
const MAX_SEARCH_MS = 60_000;
const SINGLE_SEARCH_MS = 5_000;

/** Searches once even if `signal` is aborted. Never throws. @returns null if the server certainly lacks the job */
export function recoverJob(
  job: Job,
  signal: AbortSignal,
  context: SubmitContext,
): Promise<SubmitReply | null> {
  if (signal.aborted) return findSubmittedJob(job, AbortSignal.timeout(SINGLE_SEARCH_MS), signal, context);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(MAX_SEARCH_MS)]);
  return findSubmittedJob(job, limited, limited, context);
}

/** @param signal aborts a request @param until ends the search */
async function findSubmittedJob(
  job: Job,
  signal: AbortSignal,
  until: AbortSignal,
  { server, deps }: SubmitContext,
): Promise<SubmitReply | null> {
  const id = toJobId(job);
  try {
    for (;;) {
      if ((await server.find(id, signal)) !== null) return { outcome: "accepted", taskId: id };
      if (server.isGone(id)) return null;
      await deps.clock.sleep(SEARCH_INTERVAL_MS, until);
    }
  } catch (error) {
    const why = error instanceof Error ? toClause(error.message) : String(error);
    return { outcome: "unknown", why, excerpt: null, isAskable: true, cause: error };
  }
}

/** Resolves a short model name to a file in the server's list: `dream` to `sd/dream.safetensors`. */
async function resolveCheckpoint(
  name: string | null,
  server: ComfyServer,
  signal: AbortSignal,
): Promise<string | null> {
  if (name === null) return null;
  const names = await server.checkpoints(signal).catch((error) => {
    signal.throwIfAborted();
    if (error instanceof ProviderError) return null;
    throw error;
  });
  if (names === null || names.includes(name)) return name;
  const [only, ...others] = names.filter((each) => plainName(each) === plainName(name));
  // The name is sent unchanged if it is not in the list, because the model might not be a checkpoint.
  return only !== undefined && others.length === 0 ? only : name;
}

function plainName(name: string): string {
  return name
    .replace(/^.*[\\/]/, "")
    .replace(/\.(?:safetensors|ckpt|gguf|sft|pth?)$/i, "")
    .toLowerCase();
}

/** Folder of uploaded images, in the server's input folder. */
const SUBFOLDER = "imggen";

/** Each name is the image's digest, so that an upload only overwrites the same image. @throws ProviderError */
async function uploadImages(
  files: readonly LocalReference[],
  server: ComfyServer,
  signal: AbortSignal,
): Promise<string[]> {
  const names: string[] = [];
  for (const { file, mediaType } of files) {
    const name = `${await fileSha256(file)}${path.extname(file)}`;
    const fields: [string, string][] = Object.entries({ subfolder: SUBFOLDER, overwrite: "true" });
    names.push(await server.upload(formBody(fields, [{ field: "image", file, name, mediaType }]), signal));
  }
  return names;
}

const MAX_LISTED = 6;
const MAX_DETAIL = 300;

/** The message contains the title, input and reason of each invalid node. */
function workflowRefusal(reply: FailedReply, graph: Graph, source: ReplySource): ProviderError {
  const error = failedReply(reply, source);
  if (reply.status !== 400) return error;
  const { node_errors } = fieldsOf(parseLenientJson(String(reply.body)));
  const reasons = Object.entries(fieldsOf(node_errors)).flatMap(([id, value]) => {
    const { errors, class_type } = fieldsOf(value);
    const node = graph.get(id);
    const name = node ? nodeName(id, node) : `${class_type} (${id})`;
    const each = Array.isArray(errors) ? errors.filter(isJsonObject) : [];
    return each.map((one) => `${name}, ${formatNodeError(one)}`);
  });
  if (reasons.length === 0) return error;
  const reason = source.mask(joinFirst(reasons, MAX_LISTED, "; "));
  const message = `${source.host} refused the workflow: ${reason}.`;
  return new ProviderError(message, { kind: "invalid" }, { cause: error });
}

/** The input's name is put first, unless ComfyUI's text already begins with the name. */
function formatNodeError({ message, details, extra_info }: Record<string, unknown>): string {
  const [input, detail, general] = [fieldsOf(extra_info).input_name, details, message].map((value) =>
    typeof value === "string" ? truncate(collapseWhitespace(value), MAX_DETAIL) : "",
  ) as [string, string, string];
  const reasonText = detail === "" || detail === input ? general : detail;
  return input === "" || reasonText.startsWith(input) ? reasonText : `${input}: ${reasonText}`;
}
