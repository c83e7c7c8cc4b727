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
  fieldAtFault,
  intentFor,
  surplusField,
  TOO_MANY_FIELDS,
} from "./client-request.ts";
import { endOf, isUnsent } from "./end.ts";
import type { Service } from "./serve-options.ts";

/**
 * Reason that no task was begun. `limit`: of the day's credits. `unsendable`: the disk, or a generator that cannot be asked.
 * `other body`: the key belongs to another request. `damaged call`: its record cannot be read.
 */
export interface NotBegun {
  kind: "invalid" | "no such model" | "limit" | "unsendable" | "other body" | "damaged call";
  /** Type of the error; null for none. */
  type: ErrorType | null;
  /** The client's name of the wrong field; null for none. */
  field: string | null;
  detail: string;
}

/** `delivered`: notes that the client has its answer. */
export type BeginResult = { taskId: string; delivered: () => void } | { refused: NotBegun };

/** Timeout for the price of a workflow: a refusal comes within 15 s. */
export const PREPARE_MS = 10_000;

/** Time after its end or last retry in which the next retry finds a call, in milliseconds. */
const RETRY_MS = 15 * 60_000;

/** The document's maximum for any model. */
const MAX_REFERENCES = 16;

const OTHER_BODY = "This Idempotency-Key was used for another request. Use a new key for each request.";

/**
 * Checks a request and begins its task: it is on disk, and with the runner, when this returns. Nothing waits for the provider,
 * except to refuse a model that it seems not to have. Every request of one call is the same task, whatever crashed in between.
 */
export async function begin(
  clientRequest: ClientRequest,
  request: CallRequest,
  service: Service,
): Promise<BeginResult> {
  const work = () => beginCall(clientRequest, request, service);
  const result = mayRepeat(request, service) ? service.calls.inTurn(request, work) : work();
  return result.catch(refusalFor);
}

/** Whether a request may be one of an earlier call. */
function mayRepeat({ key, isRetry }: CallRequest, { onceMs }: Service): boolean {
  return key !== null || isRetry || onceMs !== null;
}

async function beginCall(
  clientRequest: ClientRequest,
  request: CallRequest,
  service: Service,
): Promise<BeginResult> {
  const { calls, clients, gate, ledger } = service;
  const earlier = await earlierCall(request, service);
  if (earlier !== null && earlier.digest !== request.digest) return refused("other body", null, OTHER_BODY);
  const call = earlier ?? (await calls.create(request, mayRepeat(request, service)));
  // Another process was first.
  if (call === null) return beginCall(clientRequest, request, service);
  const delivered = request.gone ? clients.join(call, request.gone) : () => calls.note(call, "delivered");
  const wasBegun = async () => (await ledger.read(call.id)) !== null;
  const isBegun = earlier !== null && (await wasBegun());
  const why = isBegun ? null : await beginAs(clientRequest, service, call, request.gone !== null);
  if (why === null) {
    gate.retry();
    return { taskId: call.taskId, delivered };
  }
  delivered();
  if (earlier === null && !(await wasBegun())) calls.forget(call);
  return why;
}

/**
 * The call that a request repeats: that of its key, or of equal ones the oldest that no client waits for and that was not
 * delivered, else the oldest. In doubt it is one: at worst a client gets an equal image at no charge.
 */
async function earlierCall(request: CallRequest, service: Service): Promise<Call | null> {
  const { calls, clients } = service;
  if (!mayRepeat(request, service)) return null;
  const candidates: Call[] = [];
  for (const call of await calls.earlier(request))
    if (await isRepeated(call, request, service)) candidates.push(call);
  const isAbandoned = (call: Call) =>
    !isDelivered(call) && !clients.areWaiting(call.taskId) && !calls.waitsElsewhere(call);
  return candidates.find(isAbandoned) ?? candidates[0] ?? null;
}

async function isRepeated(call: Call, { key, isRetry }: CallRequest, service: Service): Promise<boolean> {
  const { calls, ledger, clock, onceMs } = service;
  const entry = await ledger.read(call.id);
  const task = entry?.kind === "task" ? entry.task : null;
  // Its client was told so: the same request begins it again.
  if (task !== null && isUnsent(task)) {
    calls.forget(call);
    return false;
  }
  if (key !== null || (task !== null && endOf(task) === null)) return true;
  const endedMs = task === null ? 0 : lastAnswerMs(task);
  const sinceMs = (ms: number) => clock.now() - Math.max(ms, endedMs);
  return (isRetry && sinceMs(lastRequestMs(call)) <= RETRY_MS) || sinceMs(call.at) <= (onceMs ?? -1);
}

function lastAnswerMs({ requests }: Task): number {
  const times = requests.flatMap(({ attempts }) => attempts.map(({ at, answer }) => answer?.at ?? at));
  return Math.max(0, ...times.map((time) => Date.parse(time)));
}

/** @returns why it was not begun; null if it was */
async function beginAs(
  clientRequest: ClientRequest,
  service: Service,
  call: Call,
  isAwaited: boolean,
): Promise<{ refused: NotBegun } | null> {
  const { copies = [], input } = clientRequest;
  const images = input.image ?? [];
  const wrong = referenceProblem(images, images.length + copies.length);
  if (wrong !== null) return refused("invalid", "image", wrong);
  const surplus = surplusField(input);
  if (surplus !== undefined) return refused("invalid", surplus, TOO_MANY_FIELDS);
  const model = await service.modelList.find(input.model);
  if (model === null) return refused("no such model", "model", noSuchModel(input.model ?? "", service));
  const image = copies.length === 0 ? input.image : [...images, ...copies];
  const whole = { ...clientRequest, input: { ...input, model, ...(image !== undefined && { image }) } };
  try {
    checkClientRequest(whole, service);
    await service.connection.generator.prepare?.(AbortSignal.timeout(PREPARE_MS));
    const intent = { ...intentFor(whole, service, call), ...(isAwaited && { call: call.name }) };
    await service.limited.run(() => beginChecked(intent, service, call));
    return null;
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) return refusalFor(error);
    return refused("invalid", fieldAtFault(error.message, whole, service), error.message);
  }
}

/** The refusal of a request that was not begun because of an expected error. @throws any other error */
function refusalFor(error: unknown): { refused: NotBegun } {
  if (!(error instanceof ImggenError)) throw error;
  const { type, message } = error;
  if (error instanceof UnreadableRecordError) return refused("damaged call", null, message, type);
  if (type === "invalid_request") return refused("invalid", null, message, type);
  return refused(type === "budget_exceeded" ? "limit" : "unsendable", null, message, type);
}

function refused(
  kind: NotBegun["kind"],
  field: NotBegun["field"],
  detail: string,
  type: ErrorType | null = null,
): { refused: NotBegun } {
  return { refused: { kind, type, field, detail } };
}

/** Problem of the reference images; null for none. Anyone with the key is a client, so no file may be named. */
function referenceProblem(images: readonly string[], count: number): string | null {
  if (count > MAX_REFERENCES) return `At most ${MAX_REFERENCES} reference images can be given.`;
  const isFit = (url: string) => URL.canParse(url) && /^(?:https?|data):$/.test(new URL(url).protocol);
  return images.every(isFit) ? null : "A reference image is no http, https or data URL.";
}

function noSuchModel(model: string, { modelList, connection }: Service): string {
  const { name } = connection.generator;
  return `${name} has no model ${JSON.stringify(model)}. ${describeChoices(modelList.names)}`;
}

async function beginChecked(intent: Intent, service: Service, call: Call): Promise<void> {
  const { ledger, matrix, runner, clients } = service;
  const { credits } = intent;
  const cost = {
    credits: credits ?? 0,
    undocumented: credits === null ? 1 : 0,
    waiting: waitingCredits(service),
  };
  const account = spendingAccount(intent.service, isAtGenerator(intent));
  await checkDailyLimit(cost, account, service, { matrix, allowUndocumented: false });
  if (intent.call !== undefined && !call.hasKey && !clients.areWaiting(call.taskId))
    throw new InterruptedError(null);
  const heldTask = await ledger.begin(intent, { id: call.id, isShared: true });
  if (heldTask === "taken") return;
  // Hundreds may wait: none of them keeps its file open.
  ledger.release(heldTask, true);
  runner.take(heldTask.task, clients.areGone(call.taskId));
}

/** Credits of the server's tasks that are still to be submitted: the day's sum has them only then. */
function waitingCredits({ runner }: Pick<Service, "runner">): number {
  const paid = runner.open.filter(({ task }) => task.intent.isPaid);
  return paid.reduce((sum, { task, isSubmitted }) => {
    const [unsent, count] = [unsentCredits(task) ?? 0, task.requests.length];
    // One is in flight, and in the day's sum.
    return sum + (isSubmitted ? (unsent / count) * (count - 1) : unsent);
  }, 0);
}
