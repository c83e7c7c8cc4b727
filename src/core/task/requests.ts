import { isoTime } from "../../lib/clock.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { ErrorType, ImggenError } from "../../lib/error-types.ts";
import { type Job, type SubmitReply, TimeLimitError, type UnknownReply } from "../../providers/provider.ts";
import { StateFolderError } from "../../store/errors.ts";
import type { WorkFolders } from "../../store/work-folders.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Work } from "../../task/work.ts";
import type { TaskDeps } from "../deps.ts";
import { interruptedError, PendingError } from "../errors.ts";
import type { Turn, Waiting } from "../turns/line.ts";
import { jobOf } from "./jobs.ts";
import { type AttemptLog, outcomeUnknown, type SubmitResult, submitOnce } from "./submit.ts";
import { type TaskWriter, WAIT_MS } from "./task-writer.ts";

/** How often a request that costs nothing is sent, at most: twice more after its reply was lost. */
const MOST_TRIES = 3;

/** How the requests of a task are sent and waited for. */
export interface RunSpec {
  /** How long to wait for each request, counted from its start, in milliseconds; null: as long as it may take. */
  timeoutMs: number | null;
  /** How long the provider may ask to wait after a 429. */
  patienceMs: number;
  /** Called each time that a request has been sent. */
  onSent?: (() => void) | undefined;
  /** Called with what of a request the provider has left out. */
  onWarning?: ((message: string) => void) | undefined;
}

type WithWork = TaskRecord & { intent: { work: Work } };

/**
 * Takes each request of a task at a provider other than the hosted service as far as this process can: what had been
 * sent before is recovered first, what waits is sent in its turn. Everything that comes of them is on disk when this
 * returns. @returns why this process goes no further; null where every request is at its end, or accepted
 */
export async function runRequests(
  writer: TaskWriter,
  spec: RunSpec,
  deps: TaskDeps,
): Promise<ImggenError | null> {
  for (const index of writer.record.requests.keys()) {
    const unrecovered =
      writer.record.requests[index]?.name === "started" ? await recoverRequest(writer, index, deps) : null;
    if (unrecovered !== null) return unrecovered;
    if (writer.record.requests[index]?.name !== "waiting") continue;
    const stop = await sendRequest(writer, index, spec, deps);
    if (stop !== null) return stop;
  }
  return null;
}

/**
 * Finds out what came of a request whose process ended: its reply may have arrived to the last byte.
 * @returns why that cannot be found out now, where the provider can tell later
 */
export async function recoverRequest(
  writer: TaskWriter,
  index: number,
  deps: TaskDeps,
): Promise<ImggenError | null> {
  const { connection, ledger, signal } = deps;
  const { work } = workOf(writer);
  const job = jobOf(writer.record, index, ledger.work);
  const onProgress = (share: number) =>
    deps.onProgress({ type: "progress", taskId: work.taskId, share, waiting: null });
  // What is still at work is waited for, and is this process's until then.
  await takeOver(writer, index, work);
  const reply = await withinLimit(work.requestMs, deps, async (limited) =>
    connection.provider.recover?.(job, { signal: limited, onProgress }),
  );
  // It stays as it is for the next run: nothing has ended it.
  if (signal.aborted && (reply === null || isStillAtWork(reply))) return null;
  if (reply?.outcome === "unknown" && reply.isAskable) return askedLater(writer, reply, deps);
  const result = resultOf(reply ?? endedMeanwhile(job, writer.record.id, ledger.work));
  const tries = triesOf(writer, index);
  const isAgain =
    result.outcome === "not_sent" || (result.outcome === "unknown" && !work.isPaid && tries < MOST_TRIES);
  if (isAgain) await writer.wait(index, result.error.message, result.outcome === "unknown");
  else await recordEnd(writer, index, result, deps);
  return null;
}

/** The request stays as it is: its provider knows what became of it, and cannot be asked now. */
function askedLater(writer: TaskWriter, { why }: UnknownReply, deps: TaskDeps): ImggenError {
  if (deps.signal.aborted) return interruptedError(deps.signal, writer.charged);
  const { taskId } = workOf(writer).work;
  const name = deps.connection.generator?.name ?? "its provider";
  const message = `Whether ${name} has task ${taskId} could not be asked: ${why}.`;
  return new PendingError(message, { charged: writer.charged });
}

function isStillAtWork(reply: SubmitReply): boolean {
  return reply.outcome === "unknown" && reply.isStopped === false;
}

/** What work comes to that is given up by the run's signal, and when a request may take no longer. */
export async function withinLimit<Result>(
  ms: number,
  { clock, signal }: TaskDeps,
  work: (signal: AbortSignal) => Promise<Result | null | undefined>,
): Promise<Result | null> {
  const [limit, over] = [new AbortController(), new AbortController()];
  const reason = new TimeLimitError(`no answer within ${formatDuration(ms)}`);
  void clock.sleep(ms, over.signal).then(
    () => limit.abort(reason),
    () => {},
  );
  try {
    return (await work(AbortSignal.any([signal, limit.signal]))) ?? null;
  } finally {
    over.abort();
  }
}

/** A request that is still on its way is this process's now, for as long as it may take. */
async function takeOver(writer: TaskWriter, index: number, work: Work): Promise<void> {
  const state = writer.record.requests[index];
  if (state?.name === "started") await writer.takeOver(index, work.requestMs);
}

const ENDED_MEANWHILE: UnknownReply = {
  outcome: "unknown",
  why: "the process that had sent it ended before the reply had come",
  excerpt: null,
};

/** What had arrived until its process ended is named: it may hold what was paid for. */
function endedMeanwhile({ index, folder }: Job, id: string, work: WorkFolders): UnknownReply {
  return { ...ENDED_MEANWHILE, kept: work.isKept(id, index) ? folder : null };
}

/** The end of a submit from the one reply that there will be. */
function resultOf(reply: SubmitReply): SubmitResult {
  switch (reply.outcome) {
    case "unknown":
      return { outcome: "unknown", error: outcomeUnknown(reply), reply, gaveUp: null };
    case "rate_limited":
      return { outcome: "not_sent", error: reply.error };
    case "not_sent":
      return { outcome: "not_sent", error: reply.error ?? outcomeUnknown(ENDED_MEANWHILE) };
    default:
      return reply;
  }
}

/** Sends a request in its turn. @returns why this process goes no further with the task; null where it does */
async function sendRequest(
  writer: TaskWriter,
  index: number,
  spec: RunSpec,
  deps: TaskDeps,
): Promise<ImggenError | null> {
  const { clock, signal } = deps;
  const { work } = workOf(writer);
  let sentAtMs = Number.POSITIVE_INFINITY;
  const onSent = () => {
    sentAtMs = Math.min(sentAtMs, clock.monotonicMs());
    spec.onSent?.();
  };
  const job = jobOf(writer.record, index, deps.ledger.work);
  const result = await submitOnce(
    {
      job,
      log: attemptLog(writer, index),
      turn: () => inTurn(writer, index, deps),
      patienceMs: spec.patienceMs,
      lostRetries: work.isPaid ? 0 : MOST_TRIES - 1 - triesOf(writer, index),
      limitMs: work.requestMs,
      timeoutMs: work.isPaid ? null : spec.timeoutMs,
      graceMs: deps.keeping?.graceMs ?? (work.isPaid ? Number.POSITIVE_INFINITY : 0),
      onWarning: spec.onWarning,
    },
    { ...deps, onSent },
  );
  const isLate = spec.timeoutMs !== null && clock.monotonicMs() - sentAtMs >= spec.timeoutMs;
  const stop = await afterSubmit(writer, index, result, deps);
  if (stop !== null) return stop;
  if (signal.aborted) return interruptedError(signal, writer.charged);
  return isLate ? stillRunning(writer) : null;
}

/** Records what came of a submit. @returns why this process goes no further with the task; null where it does */
async function afterSubmit(
  writer: TaskWriter,
  index: number,
  result: SubmitResult,
  deps: TaskDeps,
): Promise<ImggenError | null> {
  const { work } = workOf(writer);
  // Nothing is lost, and another run may fare better: it waits, unless it is this run's alone and has made nothing.
  if (result.outcome === "not_sent" || (result.outcome === "refused" && isOfAccount(result.error))) {
    if (deps.keeping || hasMade(writer, index)) {
      await writer.wait(index, result.error.message, false);
      return result.error;
    }
    await endAll(writer, result, deps);
    return result.error;
  }
  if (
    result.outcome === "unknown" &&
    !work.isPaid &&
    result.gaveUp !== null &&
    result.gaveUp !== "time limit"
  ) {
    await writer.wait(index, "it was not waited for", false);
    return result.gaveUp === "signal" ? result.error : stillRunning(writer);
  }
  if (result.outcome === "unknown" && result.reply.isAskable) return askedLater(writer, result.reply, deps);
  await recordEnd(writer, index, result, deps);
  return null;
}

const OF_ACCOUNT: ReadonlySet<ErrorType> = new Set([
  "auth_required",
  "insufficient_credits",
  "subscription_required",
  "service_error",
]);

/** Whether a refusal is the account's, so that no other request would fare better, and says nothing of this one. */
export function isOfAccount({ type }: ImggenError): boolean {
  return OF_ACCOUNT.has(type);
}

/** Whether any request of a task has made something, or may have, beside the attempt that has just made nothing. */
function hasMade({ record }: TaskWriter, index: number): boolean {
  return record.requests.some((state, at) => {
    if (!("tries" in state)) return true;
    return state.tries > (at === index && state.name === "started" ? 1 : 0);
  });
}

/** Ends every request of a task that has made nothing: the same would come of the others. */
async function endAll(
  writer: TaskWriter,
  { outcome, error: { type, key, message } }: Extract<SubmitResult, { outcome: "refused" | "not_sent" }>,
  { clock }: TaskDeps,
): Promise<void> {
  const at = isoTime(clock.now());
  for (const request of writer.record.requests.keys()) {
    if (outcome === "refused")
      await writer.write({ type: "refused", at, error: { type, key, message }, request });
    else await writer.write({ type: "not_sent", at, why: message, request });
  }
}

/** Records the end of a request. */
export async function recordEnd(
  writer: TaskWriter,
  request: number,
  result: SubmitResult,
  { clock }: Pick<TaskDeps, "clock">,
): Promise<void> {
  const { work } = workOf(writer);
  const at = isoTime(clock.now());
  switch (result.outcome) {
    case "accepted":
      await writer.write({ type: "accepted", at, taskId: result.taskId, request });
      return;
    case "made": {
      const { usage } = result;
      const facts = { urls: [], seenMs: null, pendingMs: null, ...(usage && { usage }) };
      await writer.write({ type: "completed", at, ...facts, request });
      return;
    }
    case "refused": {
      const { type, key, message } = result.error;
      await writer.write({ type: "refused", at, error: { type, key, message }, request });
      return;
    }
    case "not_sent":
      await writer.write({ type: "not_sent", at, why: result.error.message, request });
      return;
    case "unknown": {
      const { why, excerpt, kept } = result.reply;
      if (work.isPaid)
        await writer.write({
          type: "unknown",
          at,
          why,
          ...(excerpt && { excerpt }),
          ...(kept && { kept }),
          request,
        });
      else
        await writer.write({
          type: "failed",
          at,
          errorCode: null,
          why: whyFailed(result, work),
          charged: "no",
          request,
        });
    }
  }
}

function whyFailed({ gaveUp, reply }: Extract<SubmitResult, { outcome: "unknown" }>, work: Work): string {
  if (gaveUp !== "time limit") return `${reply.why}.`;
  const limit = `it took longer than ${formatDuration(work.requestMs)}. Allow more with --generator-timeout.`;
  return reply.isStopped ? limit : `${limit} It may still be at work on it for a while.`;
}

const NOT_SENT = "Nothing was sent. Free some space or fix the folder's permissions.";

/** Records attempts to send a request. */
function attemptLog(writer: TaskWriter, index: number): AttemptLog {
  return {
    begin: (submitMs) => writer.start(index, submitMs),
    rateLimited: (why, waitMs) => writer.wait(index, why, false, waitMs + WAIT_MS),
    again: (why, sent) => writer.wait(index, why, sent),
  };
}

/** Where nothing waits for anything. */
const AT_ONCE: Turn = { release: async () => {} };

/**
 * Makes the folder for what will arrive, and waits for the request's turn, which others are told: the user, and other
 * processes. @throws StateFolderError, the signal's reason, or the disk's error
 */
async function inTurn(writer: TaskWriter, index: number, deps: TaskDeps): Promise<Turn> {
  const { connection, signal, clock, ledger } = deps;
  const { line } = connection.generator ?? {};
  try {
    await ledger.work.begin(writer.id, index);
  } catch (error) {
    throw new StateFolderError(ledger.work.folder, error, { hint: NOT_SENT });
  }
  if (!line) return AT_ONCE;
  const { taskId } = workOf(writer).work;
  const over = new AbortController();
  const renewing = renew(writer, index, clock, over.signal);
  try {
    const order = `${writer.id}-${String(index).padStart(2, "0")}`;
    const onWait = (waiting: Waiting) => deps.onProgress({ type: "progress", taskId, share: null, waiting });
    return await line.take(order, { signal, onWait });
  } finally {
    over.abort();
    await renewing;
  }
}

/** Keeps a waiting task in this process's hands for as long as it lives and works on it. */
async function renew(
  writer: TaskWriter,
  index: number,
  clock: TaskDeps["clock"],
  signal: AbortSignal,
): Promise<void> {
  try {
    for (;;) {
      if (!writer.isWaitCovered(index)) await writer.wait(index, null, false);
      await clock.sleep(WAIT_MS / 4, signal);
    }
  } catch {
    // Its turn has come, or it was given up.
  }
}

function workOf({ record }: TaskWriter): WithWork["intent"] {
  const { work } = record.intent;
  if (work === undefined) throw new TypeError("a task of the hosted service");
  return { ...record.intent, work };
}

function triesOf({ record }: TaskWriter, index: number): number {
  const state = record.requests[index];
  return state && "tries" in state ? state.tries : 0;
}

function stillRunning(writer: TaskWriter): PendingError {
  const { taskId } = workOf(writer).work;
  const isMade = writer.record.state.name === "completed";
  const what = isMade ? "was made after its time was up" : "is not finished yet: its time is up";
  return new PendingError(`Task ${taskId} ${what}.`, { charged: writer.charged });
}
