import { createReadStream } from "node:fs";
import path from "node:path";
import type { RunnerTask } from "../core/engine/queued-task.ts";
import { isWhole } from "../core/images/copy-image.ts";
import { ExactInteger, parseExact } from "../lib/exact-integer.ts";
import { fieldsOf, isJsonObject, isJsonValue } from "../lib/json.ts";
import type { ServiceRequest } from "../server/http.ts";
import { type FileAddress, LINK_SECONDS, resultUrl, verifyLink } from "../server/links.ts";
import {
  type ErrorKey,
  FAILURE_CODE,
  invalidRequest,
  refusal,
  type ServerReply,
  success,
  unknownError,
} from "../server/reply.ts";
import { checkBody, readJson } from "../server/request-body.ts";
import { isFieldName } from "../task/request-fields.ts";
import type { SavedFile } from "../task/saved-file.ts";
import type { Task } from "../task/task.ts";
import { type BeginRefusal, begin } from "./begin-task.ts";
import { type CallRequest, contentDigest } from "./call-records.ts";
import { getTaskEnd, type TaskEnd } from "./end.ts";
import type { ImageId } from "./kept-images.ts";
import type { Service } from "./serve-options.ts";
import { findTask } from "./server-tasks.ts";

export function toCallRequest(
  { headers }: Pick<ServiceRequest, "headers">,
  digest: string,
  disconnected: AbortSignal | null,
): CallRequest {
  const key = headers["idempotency-key"] || null;
  const isRetry = Number.parseInt(headers["x-stainless-retry-count"] ?? "", 10) >= 1;
  return { key, digest, isRetry, disconnected };
}

/** Handles POST /generate-image (section 4.1). The task is on disk before its id is returned. */
export async function submit(request: ServiceRequest, service: Service): Promise<ServerReply> {
  const json = await readJson(request, parseExact);
  if ("refused" in json) return json.refused;
  const fields = withSeedAsText(json.json);
  const problem = describeInvalidField(fields);
  if (problem !== null) return invalidReply(problem);
  // This check only covers models in the matrix, because the generator checks requests for other models.
  const checked = checkBody(fields, service.matrix, service.defaultModel ?? undefined, invalidReply);
  if ("refused" in checked) return checked.refused;
  const { input } = checked;
  const digest = contentDigest("POST", request.url.pathname, fields);
  const result = await begin({ input }, toCallRequest(request, digest, null), service);
  if ("refused" in result) return refusalReply(result.refused);
  const { taskId, recordDelivery } = result;
  recordDelivery();
  return success({ taskId }, `${taskId} ${input.model ?? service.defaultModel ?? ""}`.trimEnd());
}

function withSeedAsText(json: unknown): unknown {
  if (!isJsonObject(json) || !(json.seed instanceof ExactInteger)) return json;
  return { ...json, seed: json.seed.digits };
}

function describeInvalidField(json: unknown): string | null {
  const { fields, ...members } = fieldsOf(json);
  const unknownName = Object.keys(members).find((name) => !isFieldName(name));
  if (unknownName !== undefined)
    return `${JSON.stringify(unknownName)} is not a field of this API. Put the generator's fields into "fields"`;
  const invalidName = Object.entries(fieldsOf(fields)).find(([, value]) => !isJsonValue(value))?.[0];
  return invalidName === undefined ? null : `${JSON.stringify(invalidName)} in "fields" ${INVALID_VALUE}`;
}

export const INVALID_VALUE =
  "is nested too deeply, or contains a number that JSON readers would round: write such a number as text";

function invalidReply(problem: string): ServerReply {
  return invalidRequest(problem, { detail: `${problem}.` });
}

function refusalReply({ kind, detail }: BeginRefusal): ServerReply {
  switch (kind) {
    case "invalid":
    case "no such model":
      return invalidRequest(detail, { detail });
    case "other body":
    case "damaged call":
      return invalidRequest(detail, { status: 422, detail });
    case "limit":
      return refusal("my_credits.no_credits_description", { detail });
    case "unsendable":
      return unknownError(detail, { detail });
  }
}

/**
 * Handles GET /generate-image (section 4.2) without a request to the provider. Beyond the service's document, a
 * reply can have `ahead`, `progress`, `detail`, `outcome` and `usage`.
 */
export async function poll(request: ServiceRequest, service: Service): Promise<ServerReply> {
  const taskId = request.url.searchParams.get("taskId");
  if (taskId === null || taskId === "") return invalidRequest("no taskId");
  const runnerTask = service.runner.find(taskId);
  if (runnerTask !== null && !runnerTask.isEnded) return runnerTaskReply(taskId, runnerTask, service);
  const task = await findTask(taskId, service);
  if (task === null) return unknownError("no such task");
  const end = getTaskEnd(task);
  return end === null
    ? ledgerTaskReply(taskId, task)
    : endedReply(taskId, end, requestOrigin(request), service);
}

function runnerTaskReply(taskId: string, runnerTask: RunnerTask, { runner, gate }: Service): ServerReply {
  const { task, share, waiting, error } = runnerTask;
  if (runnerTask.isSubmitted || task.state !== "waiting") {
    const progress = share !== null && { progress: share };
    return success({ taskId, status: "processing", errorCode: 0, ...progress }, `${taskId} processing`);
  }
  const { outage } = gate;
  if (outage?.refusal)
    return refusal(accountErrorKey(outage.refusal.key), { detail: outage.refusal.message });
  const detail = outage?.why ?? (waiting === null ? error?.message : `The task waits for ${waiting.holder}.`);
  const ahead = runner.countAhead(taskId);
  return success(
    { taskId, status: "queued", errorCode: 0, ahead, ...(detail !== undefined && { detail }) },
    `${taskId} queued`,
  );
}

function accountErrorKey(key: string | null): ErrorKey {
  return key === "login_required" ? key : "my_credits.no_credits_description";
}

/** Returns the reply for an unfinished task that this process does not run. */
function ledgerTaskReply(taskId: string, { state }: Task): ServerReply {
  const status = state === "waiting" ? "queued" : "processing";
  const ahead = status === "queued" && { ahead: 0 };
  return success({ taskId, status, errorCode: 0, ...ahead }, `${taskId} ${status}`);
}

/** Returns the server's origin for the client. The client's headers are trusted, because the client has the key. */
export function requestOrigin({ url, headers }: Pick<ServiceRequest, "url" | "headers">): string {
  const scheme = headers["x-forwarded-proto"] === "https" ? "https" : "http";
  return `${scheme}://${url.host}`;
}

function endedReply(taskId: string, end: TaskEnd, origin: string, service: Service): ServerReply {
  const note = `${taskId} ${end.name}`;
  if (end.name === "failed") {
    const { outcome, detail } = end;
    return success({ taskId, status: "failed", errorCode: FAILURE_CODE, outcome, detail }, note);
  }
  const { usage } = end;
  const detail = imageNotes(taskId, end, service).join(" ");
  return success(
    {
      taskId,
      status: "completed",
      resultUrl: resultUrls(taskId, end, origin, service),
      errorCode: 0,
      ...(usage !== null && { usage }),
      ...(detail !== "" && { detail }),
    },
    note,
  );
}

export function imageNotes(
  taskId: string,
  { missing, remarks }: Extract<TaskEnd, { name: "completed" }>,
  { runner }: Pick<Service, "runner">,
): string[] {
  return [...missing, ...new Set([...remarks, ...(runner.find(taskId)?.warnings ?? [])])];
}

export function resultUrls(
  taskId: string,
  { files }: Extract<TaskEnd, { name: "completed" }>,
  origin: string,
  { secret, clock }: Pick<Service, "secret" | "clock">,
): string | string[] {
  const expires = Math.ceil(clock.now() / 1000) + LINK_SECONDS;
  const extensions = files.map((file) => path.extname(file.path ?? "").slice(1));
  return resultUrl({ origin, secret }, { taskId, expires }, extensions);
}

/** Handles GET /files/<task>/<index>.<extension> for an image. The client needs no key, because the URL is signed. */
export async function serveFile(address: FileAddress, service: Service): Promise<ServerReply> {
  const link = verifyLink(address, service.secret, service.clock.now());
  if ("refused" in link) return link.refused;
  const image = await findImage(link, service);
  if (image === null || image.path === null) return unknownError("no such image", { status: 404 });
  if (!(await isWhole(image))) return unknownError("no longer stored", { status: 410 });
  const { mediaType, bytes } = image;
  const onSent = () => service.collected.note(link);
  return {
    kind: "picture",
    chunks: readChunks(image.path),
    mediaType,
    bytes,
    cutShort: false,
    onSent,
    note: null,
  };
}

export async function findImage(
  { taskId, index }: ImageId,
  service: Pick<Service, "ledger" | "runner" | "name">,
): Promise<SavedFile | null> {
  const task = await findTask(taskId, service);
  const end = task && getTaskEnd(task);
  return end?.name === "completed" ? (end.files[index] ?? null) : null;
}

/** Reads a file. The file is opened only when its first chunk is read, because a HEAD request needs no chunk. */
async function* readChunks(file: string): AsyncGenerator<Buffer> {
  yield* createReadStream(file);
}
