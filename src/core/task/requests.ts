import { ImggenError } from "../../lib/error-types.ts";
import { triesOf, workOf } from "../../task/record.ts";
import type { TaskDeps } from "../deps.ts";
import { CancelledError, interruptedError, isOfAccount, PendingError, TakenOverError } from "../errors.ts";
import { jobOf } from "./jobs.ts";
import { endCancelled, unlessCancelled } from "./obey-cancel.ts";
import { endAll, recordEnd } from "./record-end.ts";
import { askedLater, MOST_TRIES, recoverRequest } from "./recover-request.ts";
import { inTurn } from "./request-turn.ts";
import { type AttemptLog, type SubmitResult, submitOnce } from "./submit-once.ts";
import { type TaskWriter, WAIT_MS } from "./task-writer.ts";

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

/** Sends a request in its turn. @returns why this process goes no further with the task; null where it does */
async function sendRequest(
  writer: TaskWriter,
  index: number,
  spec: RunSpec,
  deps: TaskDeps,
): Promise<ImggenError | null> {
  const { clock, signal } = deps;
  const work = workOf(writer.record);
  let sentAtMs = Number.POSITIVE_INFINITY;
  const onSent = () => {
    sentAtMs = Math.min(sentAtMs, clock.monotonicMs());
    spec.onSent?.();
  };
  const job = jobOf(writer.record, index, deps.ledger.work);
  const submit = (within: AbortSignal) =>
    submitOnce(
      {
        job,
        log: attemptLog(writer, index, deps),
        turn: () => inTurn(writer, index, { ...deps, signal: within }),
        patienceMs: spec.patienceMs,
        lostRetries: work.isPaid ? 0 : MOST_TRIES - 1 - triesOf(writer.record, index),
        limitMs: work.requestMs,
        timeoutMs: work.isPaid ? null : spec.timeoutMs,
        graceMs: deps.keeping?.graceMs ?? (work.isPaid ? Number.POSITIVE_INFINITY : 0),
        onWarning: spec.onWarning,
      },
      { ...deps, onSent, signal: within },
    );
  const { result, isCancelled } = await unlessCancelled(writer, index, deps, submit);
  const wasMarked = "error" in result && result.error instanceof CancelledError;
  if ((isCancelled || wasMarked) && (await endCancelled(writer, index, result, deps))) return null;
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
  // Another process has the task now, and may have sent the request. A line from here would say that it was not sent.
  if ("error" in result && result.error instanceof TakenOverError) return result.error;
  const work = workOf(writer.record);
  // Nothing is lost, and another run may fare better: it waits, unless it is this run's alone and has made nothing.
  if (result.outcome === "not_sent" || (result.outcome === "refused" && isOfAll(result.error))) {
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

/** Whether a refusal says nothing of this one request, so that the others would be refused too. */
function isOfAll(error: ImggenError): boolean {
  return isOfAccount(error) || error.type === "service_error";
}

/** Whether any request of a task has made something, or may have, beside the attempt that has just made nothing. */
function hasMade({ record }: TaskWriter, index: number): boolean {
  return record.requests.some((state, at) => {
    if (!("tries" in state)) return true;
    return state.tries > (at === index && state.name === "started" ? 1 : 0);
  });
}

/** Records attempts to send a request. */
function attemptLog(writer: TaskWriter, index: number, { ledger }: TaskDeps): AttemptLog {
  return {
    // The last moment at which nothing is sent yet: whoever marks it later finds that it was started.
    begin: async (submitMs) => whyCancelled(writer, ledger) ?? writer.start(index, submitMs),
    rateLimited: (why, waitMs) => writer.wait(index, why, false, waitMs + WAIT_MS),
    again: (why, sent) => writer.wait(index, why, sent),
  };
}

/** Why a task must not be sent because of its mark: it has one, or nobody can tell. */
function whyCancelled({ id }: TaskWriter, { cancels }: TaskDeps["ledger"]): ImggenError | null {
  try {
    return cancels.has(id) ? new CancelledError() : null;
  } catch (error) {
    if (error instanceof ImggenError) return error;
    throw error;
  }
}

function stillRunning(writer: TaskWriter): PendingError {
  const { taskId } = workOf(writer.record);
  const isMade = writer.record.state.name === "completed";
  const what = isMade ? "was made after its time was up" : "is not finished yet: its time is up";
  return new PendingError(`Task ${taskId} ${what}.`, { charged: writer.charged });
}
