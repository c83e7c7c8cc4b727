import type { ServerResponse } from "node:http";
import path from "node:path";
import type { ErrorType, ImggenError } from "../../lib/error-types.ts";
import type { ServiceRequest } from "../../server/http.ts";
import type { ServerReply } from "../../server/reply.ts";
import { answerOf, decidingRequest, type Task } from "../../task/task.ts";
import { IDEMPOTENCY_KEY } from "../answer-submit.ts";
import { begin } from "../begin-task.ts";
import { endOf, type TaskEnd } from "../end.ts";
import { keepReference } from "../reference-copies.ts";
import type { Service } from "../serve-options.ts";
import { findTask } from "../server-tasks.ts";
import { readBody } from "./body.ts";
import { EventStream, JsonReply, type LongReply } from "./long-reply.ts";
import { errorReply, failedTask, notBegun, type OpenAiError, wrongRequest } from "./openai-error.ts";
import { type ImagesOperation, type ImagesOrder, readOrder } from "./order.ts";
import { resultOf } from "./result.ts";

/** The folder of reference images within that of a server. */
export const REFERENCES = "references";

/** POST /v1/images/generations and /v1/images/edits: answered when the image is there. */
export async function images(
  operation: ImagesOperation,
  request: ServiceRequest,
  service: Service,
): Promise<ServerReply> {
  const body = await readBody(request);
  if ("refused" in body) return errorReply(body.refused);
  const read = readOrder(body.fields, service.connection.generator.name.startsWith("openai"));
  if ("refused" in read) return errorReply(read.refused);
  const copies = await copiesOf(body.files, service);
  if ("refused" in copies) return errorReply(copies.refused);
  if (operation === "image_edit" && copies.length === 0 && read.order.input.image === undefined)
    return errorReply(wrongRequest("image is missing.", "image"));
  const order = { ...read.order, ...(copies.length > 0 && { copies }) };
  const begun = await begin(order, service, request.headers[IDEMPOTENCY_KEY]);
  if ("refused" in begun) return errorReply(notBegun(begun.refused));
  const { taskId } = begun;
  const answer = { operation, order: read, request, taskId };
  return { kind: "live", write: (outgoing) => write(answer, outgoing, service), note: taskId };
}

async function copiesOf(
  files: readonly Buffer[],
  { folder }: Service,
): Promise<string[] | { refused: OpenAiError }> {
  const copies: string[] = [];
  for (const bytes of files) {
    const url = await keepReference(bytes, path.join(folder, REFERENCES));
    if (url === null) return { refused: wrongRequest("An image is not a whole JPEG, PNG or WebP.", "image") };
    copies.push(url);
  }
  return copies;
}

interface Answer {
  operation: ImagesOperation;
  order: ImagesOrder;
  request: ServiceRequest;
  taskId: string;
}

/** Answers once the task has ended. If the client hangs up, the task goes on. */
async function write(
  { operation, order, request, taskId }: Answer,
  outgoing: ServerResponse,
  service: Service,
): Promise<{ status: number; note: string }> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const reply: LongReply = order.isStream
    ? new EventStream(outgoing, taskId, operation)
    : new JsonReply(outgoing, taskId);
  const comesBack = request.headers[IDEMPOTENCY_KEY] !== undefined;
  const ended = await reply.whileAlive(service.clock, () =>
    awaitEnd(taskId, comesBack, service, gone.signal),
  );
  if (ended === null) return { status: 0, note: `${taskId}, the client hung up` };
  const { task, end, refusal } = ended;
  if (end.name === "failed") {
    const failure = failedTask(refusal, end);
    return { status: reply.fail(failure), note: `${taskId} ${failure.error.code ?? "failed"}` };
  }
  const result = await resultOf(task, end, order, request, service).catch(() => null);
  if (result === null) return { status: reply.fail(GONE), note: `${taskId} no longer kept` };
  return { status: reply.send(result), note: `${taskId} completed` };
}

const GONE = wrongRequest("The image of this request is no longer kept.", null, 410);

/** How often a task is read: one that this process has is in memory, any other on the disk. */
const READ_MS = 100;
const READ_FROM_DISK_MS = 1_000;

interface Ended {
  task: Task;
  end: TaskEnd;
  /** Type of the error that the task was refused with; null if it was not. */
  refusal: ErrorType | null;
}

/**
 * Waits for the end of a task. If the provider refuses the account, a task waits until that is fixed; one whose client cannot
 * ask for it again is ended, because the client's next attempt is another task.
 * @param comesBack whether the client has a key to find the task by
 * @returns null once the signal has aborted
 */
async function awaitEnd(
  taskId: string,
  comesBack: boolean,
  service: Service,
  signal: AbortSignal,
): Promise<Ended | null> {
  const { runner, gate, clock } = service;
  let refusal: ImggenError | null = null;
  while (!signal.aborted) {
    const isHere = runner.find(taskId)?.isEnded === false;
    const task = isHere ? null : await findTask(taskId, service);
    const end = task && endOf(task);
    if (task && end) return { task, end, refusal: refusal?.type ?? refusalOf(task) };
    const ofAccount = gate.outage?.refusal ?? null;
    if (isHere && ofAccount !== null && !comesBack && (await runner.refuse(taskId, ofAccount.message))) {
      refusal = ofAccount;
      continue;
    }
    await clock.sleep(isHere ? READ_MS : READ_FROM_DISK_MS, signal).catch(() => {});
  }
  return null;
}

function refusalOf(task: Task): ErrorType | null {
  return answerOf(decidingRequest(task), "refused")?.error.type ?? null;
}
