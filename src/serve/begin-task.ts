import { checkDailyLimit, spendingAccount } from "../core/limits/budget.ts";
import { type ErrorType, ImggenError } from "../lib/error-types.ts";
import { InterruptedError } from "../lib/interrupted.ts";
import { describeChoices } from "../lib/short-text.ts";
import { InvalidRequestError } from "../models/invalid-request.ts";
import { UnreadableRecordError } from "../store/store-errors.ts";
import { type Intent, isAtGenerator } from "../task/intent.ts";
import { type Task, unsentCredits } from "../task/task.ts";
import { type Call, type CallRequest, isDelivered, lastRequestMs } from "./call-records.ts";
import {
  type ClientRequest,
  checkClientRequest,
  createIntent,
  findInvalidField,
  findSurplusField,
  TOO_MANY_FIELDS,
} from "./client-request.ts";
import { getTaskEnd, isUnsent } from "./end.ts";
import type { Service } from "./serve-options.ts";

/**
 * Reason why no task was begun.
 * `limit`: the daily credits do not suffice. `unsendable`: the disk or the generator failed.
 * `other body`: the Idempotency-Key belongs to another request. `damaged call`: the call's record cannot be read.
 */
export interface BeginRefusal {
  kind: "invalid" | "no such model" | "limit" | "unsendable" | "other body" | "damaged call";
  type: ErrorType | null;
  /** Name of the invalid field in the client's API. */
  field: string | null;
  detail: string;
}

export type BeginResult = { taskId: string; recordDelivery: () => void } | { refused: BeginRefusal };

/** Timeout for the check of a workflow's price. It is below 15 s, so that a client gets a refusal within 15 s. */
export const PREPARE_TIMEOUT_MS = 10_000;

/** Maximum time from the end or the last retry of a call to its next retry, in milliseconds. */
const RETRY_WINDOW_MS = 15 * 60_000;

const MAX_REFERENCES = 16;

const OTHER_BODY_MESSAGE =
  "This Idempotency-Key was used for another request. Use a new key for each request.";

/** Begins a task durably. All requests of one call get the same task, even after a crash. */
export async function begin(
  clientRequest: ClientRequest,
  request: CallRequest,
  service: Service,
): Promise<BeginResult> {
  const work = () => beginCall(clientRequest, request, service);
  const result = canRepeatCall(request, service) ? service.calls.runInTurn(request, work) : work();
  return result.catch(toRefusal);
}

function canRepeatCall({ key, isRetry }: CallRequest, { onceMs }: Service): boolean {
  return key !== null || isRetry || onceMs !== null;
}

async function beginCall(
  clientRequest: ClientRequest,
  request: CallRequest,
  service: Service,
): Promise<BeginResult> {
  const { calls, clients, gate, ledger } = service;
  const earlier = await findEarlierCall(request, service);
  if (earlier !== null && earlier.digest !== request.digest)
    return refused("other body", null, OTHER_BODY_MESSAGE);
  const call = earlier ?? (await calls.create(request, canRepeatCall(request, service)));
  if (call === null) return beginCall(clientRequest, request, service);
  const recordDelivery = request.disconnected
    ? clients.join(call, request.disconnected)
    : () => calls.note(call, "delivered");
  const isInLedger = async () => (await ledger.read(call.id)) !== null;
  const isBegun = earlier !== null && (await isInLedger());
  const refusal = isBegun
    ? null
    : await beginForCall(clientRequest, service, call, request.disconnected !== null);
  if (refusal === null) {
    gate.retry();
    return { taskId: call.taskId, recordDelivery };
  }
  recordDelivery();
  if (earlier === null && !(await isInLedger())) calls.forget(call);
  return refusal;
}

/**
 * Finds the call that a request repeats, by its key or otherwise by equal content.
 * A call whose clients have gone without a reply is preferred, because a client repeats its own call.
 * In doubt, a request is a repetition, because a missing second image is less harmful than a second charge.
 */
async function findEarlierCall(request: CallRequest, service: Service): Promise<Call | null> {
  const { calls, clients } = service;
  if (!canRepeatCall(request, service)) return null;
  const candidates: Call[] = [];
  for (const call of await calls.findEarlier(request))
    if (await isRepeated(call, request, service)) candidates.push(call);
  const isAbandoned = (call: Call) =>
    !isDelivered(call) && !clients.hasWaitingClients(call.taskId) && !calls.isAwaitedElsewhere(call);
  return candidates.find(isAbandoned) ?? candidates[0] ?? null;
}

async function isRepeated(call: Call, { key, isRetry }: CallRequest, service: Service): Promise<boolean> {
  const { calls, ledger, clock, onceMs } = service;
  const entry = await ledger.read(call.id);
  const task = entry?.kind === "task" ? entry.task : null;
  // The client received the error that nothing was sent, so the client's next request begins a new task.
  if (task !== null && isUnsent(task)) {
    calls.forget(call);
    return false;
  }
  if (key !== null || (task !== null && getTaskEnd(task) === null)) return true;
  const endedMs = task === null ? 0 : lastAnswerTimeMs(task);
  const elapsedMs = (ms: number) => clock.now() - Math.max(ms, endedMs);
  return (
    (isRetry && elapsedMs(lastRequestMs(call)) <= RETRY_WINDOW_MS) || elapsedMs(call.at) <= (onceMs ?? -1)
  );
}

function lastAnswerTimeMs({ requests }: Task): number {
  const times = requests.flatMap(({ attempts }) => attempts.map(({ at, answer }) => answer?.at ?? at));
  return Math.max(0, ...times.map((time) => Date.parse(time)));
}

async function beginForCall(
  clientRequest: ClientRequest,
  service: Service,
  call: Call,
  isAwaited: boolean,
): Promise<{ refused: BeginRefusal } | null> {
  const { copies = [], input } = clientRequest;
  const images = input.image ?? [];
  const problem = describeReferenceProblem(images, images.length + copies.length);
  if (problem !== null) return refused("invalid", "image", problem);
  const surplus = findSurplusField(input);
  if (surplus !== undefined) return refused("invalid", surplus, TOO_MANY_FIELDS);
  const model = await service.modelList.find(input.model);
  if (model === null)
    return refused("no such model", "model", unknownModelMessage(input.model ?? "", service));
  const image = copies.length === 0 ? input.image : [...images, ...copies];
  const fullRequest = { ...clientRequest, input: { ...input, model, ...(image !== undefined && { image }) } };
  try {
    checkClientRequest(fullRequest, service);
    await service.connection.generator.prepare?.(AbortSignal.timeout(PREPARE_TIMEOUT_MS));
    const intent = { ...createIntent(fullRequest, service, call), ...(isAwaited && { call: call.name }) };
    await service.limited.run(() => beginChecked(intent, service, call));
    return null;
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) return toRefusal(error);
    return refused("invalid", findInvalidField(error.message, fullRequest, service), error.message);
  }
}

function toRefusal(error: unknown): { refused: BeginRefusal } {
  if (!(error instanceof ImggenError)) throw error;
  const { type, message } = error;
  if (error instanceof UnreadableRecordError) return refused("damaged call", null, message, type);
  if (type === "invalid_request") return refused("invalid", null, message, type);
  return refused(type === "budget_exceeded" ? "limit" : "unsendable", null, message, type);
}

function refused(
  kind: BeginRefusal["kind"],
  field: BeginRefusal["field"],
  detail: string,
  type: ErrorType | null = null,
): { refused: BeginRefusal } {
  return { refused: { kind, type, field, detail } };
}

/** Paths are unsupported, because a client could use a path to read the user's files. */
function describeReferenceProblem(images: readonly string[], count: number): string | null {
  if (count > MAX_REFERENCES) return `At most ${MAX_REFERENCES} reference images are supported.`;
  const isSupported = (url: string) => URL.canParse(url) && /^(?:https?|data):$/.test(new URL(url).protocol);
  return images.every(isSupported) ? null : "A reference image must be an http, https or data URL.";
}

function unknownModelMessage(model: string, { modelList, connection }: Service): string {
  const { name } = connection.generator;
  return `${name} has no model ${JSON.stringify(model)}. ${describeChoices(modelList.names)}`;
}

async function beginChecked(intent: Intent, service: Service, call: Call): Promise<void> {
  const { ledger, matrix, runner, clients } = service;
  const { credits } = intent;
  const cost = {
    credits: credits ?? 0,
    undocumented: credits === null ? 1 : 0,
    waiting: unsubmittedCredits(service),
  };
  const account = spendingAccount(intent.service, isAtGenerator(intent));
  await checkDailyLimit(cost, account, service, { matrix, allowUndocumented: false });
  if (intent.call !== undefined && !call.hasKey && !clients.hasWaitingClients(call.taskId))
    throw new InterruptedError(null);
  const ownedTask = await ledger.begin(intent, { id: call.id, isShared: true });
  if (ownedTask === "taken") return;
  // The task's file is closed, because hundreds of waiting tasks would need too many open files.
  ledger.release(ownedTask, true);
  runner.take(ownedTask.task, clients.hasAbsentClients(call.taskId));
}

/** Returns the credits of requests that are not submitted yet, because the day's sum does not include them. */
function unsubmittedCredits({ runner }: Pick<Service, "runner">): number {
  const paid = runner.open.filter(({ task }) => task.intent.isPaid);
  return paid.reduce((sum, { task, isSubmitted }) => {
    const [unsent, count] = [unsentCredits(task) ?? 0, task.requests.length];
    return sum + (isSubmitted ? (unsent / count) * (count - 1) : unsent);
  }, 0);
}
