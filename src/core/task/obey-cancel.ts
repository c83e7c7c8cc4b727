import { isoTime } from "../../lib/clock.ts";
import { isPaid } from "../../task/intent.ts";
import type { TaskState } from "../../task/lifecycle.ts";
import { type TaskRecord, workOf } from "../../task/record.ts";
import type { TaskDeps, UseCaseDeps } from "../deps.ts";
import { CancelledError } from "../errors.ts";
import type { SubmitResult } from "./submit-once.ts";
import { CANCELLED } from "./task-error.ts";
import type { TaskWriter } from "./task-writer.ts";

/**
 * Works on a request, and gives it up where the user cancels the task by a command of another process: while it waits,
 * or while its provider works on it for free. What may be paid for goes on.
 * @param work its signal aborts with the run's own, or with a CancelledError
 */
export async function unlessCancelled<Result>(
  writer: TaskWriter,
  index: number,
  { ledger, signal }: Pick<TaskDeps, "ledger" | "signal">,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<{ result: Result; isCancelled: boolean }> {
  const cancelled = new AbortController();
  const onMark = () => {
    const { record } = writer;
    if (isEndable(record.requests[index], record)) cancelled.abort(new CancelledError());
  };
  const unwatch = ledger.cancels.watch(writer.id, onMark);
  try {
    const result = await work(AbortSignal.any([signal, cancelled.signal]));
    return { result, isCancelled: cancelled.signal.aborted };
  } finally {
    unwatch();
  }
}

/** Whether the process that has a task can end this request of it when the user cancels the task. */
export function isEndable(request: TaskState | undefined, { intent }: Pick<TaskRecord, "intent">): boolean {
  const name = request?.name;
  return name === "waiting" || name === "accepted" || (name === "started" && !isPaid(intent));
}

/**
 * Ends a request whose submit was given up because the user has cancelled its task, and all that wait.
 * @returns whether it is ended: the submit may have come to something
 */
export async function endCancelled(
  writer: TaskWriter,
  index: number,
  result: SubmitResult,
  deps: Pick<TaskDeps, "ledger">,
): Promise<boolean> {
  const { isPaid } = workOf(writer.record);
  const isGivenUp = result.outcome === "unknown" && result.gaveUp === "signal" && !isPaid;
  if (isGivenUp) await recordGivenUp(writer, index, deps);
  else if (result.outcome !== "not_sent") return false;
  else if (writer.record.requests[index]?.name === "started") await writer.wait(index, CANCELLED, false);
  await endWaiting(writer, deps);
  return true;
}

/** Ends the requests that wait, at no charge. One that was paid for may have been sent before: that is not known. */
export async function endWaiting(writer: TaskWriter, { ledger }: Pick<UseCaseDeps, "ledger">): Promise<void> {
  for (const [request, state] of writer.record.requests.entries()) {
    if (state.name !== "waiting") continue;
    const type = isPaid(writer.record.intent) && state.tries > 0 ? "unknown" : "not_sent";
    await writer.write({ type, at: isoTime(ledger.clock.now()), why: CANCELLED, request });
  }
}

/** Records the end of a request that a free provider may still work on: what it makes is not waited for. */
export function recordGivenUp(writer: TaskWriter, request: number, { ledger }: Pick<UseCaseDeps, "ledger">) {
  const at = isoTime(ledger.clock.now());
  return writer.write({ type: "failed", at, errorCode: null, why: `${CANCELLED}.`, charged: "no", request });
}
