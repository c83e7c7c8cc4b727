import { NetworkError, ServiceError } from "../../api/api-errors.ts";
import { describeConnectionError } from "../../api/connection-errors.ts";
import { isoTime } from "../../lib/clock.ts";
import type { Charged, ImggenError } from "../../lib/error-types.ts";
import type { FailedPoll } from "../../providers/provider.ts";
import { isResumable, STATES } from "../../task/lifecycle.ts";
import type { TaskDeps } from "../deps.ts";
import { interruptedError, PendingError } from "../errors.ts";
import {
  type EndedState,
  type WaitResult,
  type WaitSettings,
  waitForTask,
  waitTimeoutMs,
} from "../polling/wait.ts";
import { endEvent } from "./record-end.ts";
import type { TaskReport } from "./report.ts";
import { type AcceptedTask, saveTask } from "./save-task.ts";
import { taskFailed } from "./task-error.ts";

/**
 * Waits for a task and saves its images. Never throws: errors are in the report.
 * @param seen how the wait ended, if it is over already
 */
export async function finishTask(
  task: AcceptedTask,
  report: TaskReport,
  wait: WaitSettings,
  deps: TaskDeps,
  seen: WaitResult | null = null,
): Promise<TaskReport> {
  const waited = seen ?? (await awaitTask(task, report, wait, deps));
  if (waited.outcome !== "ended") {
    await task.writer?.release();
    return leftUnfinished(task.taskId, waited, report, deps);
  }
  const state = withImages(waited.task);
  const ended = endedReport(task.taskId, state, report);
  switch (state.status) {
    case "completed":
      await deps.schedules.learn(report.request, waited);
      return saveTask(task, { ...waited, task: state }, ended, deps);
    case "failed":
      await task.writer?.write(endEvent(state, null, isoTime(deps.clock.now())));
      await task.writer?.finish();
      return ended;
  }
}

/** The report on a task that has ended at the service. */
export function endedReport(taskId: string, ended: EndedState, report: TaskReport): TaskReport {
  const task = withImages(ended);
  switch (task.status) {
    case "completed": {
      const { urls, usage } = task;
      return { ...report, state: "completed", charged: "yes", urls, ...(usage && { usage }) };
    }
    case "failed": {
      const charged = task.charged ?? STATES.failed.charged;
      return { ...report, state: "failed", charged, error: taskFailed(taskId, task) };
    }
  }
}

/** The end of a task that has nothing but the images at its URLs: without any it has failed. */
function withImages(task: EndedState): EndedState {
  if (task.status === "failed" || !("unread" in task)) return task;
  const { urls } = task.unread;
  const why = "it was finished without an image that can be read.";
  return urls.length === 0 ? { status: "failed", errorCode: null, why } : { ...task, urls: [...urls] };
}

/** Waits for a task. Nothing is written about it. */
export async function awaitTask(
  { taskId, acceptedAtMs, recovering }: Pick<AcceptedTask, "taskId" | "acceptedAtMs" | "recovering">,
  { request }: TaskReport,
  wait: WaitSettings,
  deps: TaskDeps,
): Promise<WaitResult> {
  const ageMs = ageOf(acceptedAtMs, deps);
  const schedule = wait.schedule ?? (await deps.schedules.of(request));
  const usualMs = wait.schedule ? null : await deps.schedules.usualMs(request);
  deps.onProgress({ type: "waiting", taskId, usualMs });
  const timeoutMs = waitTimeoutMs(wait, request);
  const options = { schedule, timeoutMs, ageMs, pollAtOnce: recovering };
  return waitForTask(taskId, options, deps);
}

/** How old a task is, milliseconds; one of unknown age counts as old. */
export function ageOf(acceptedAtMs: number | null, { clock }: Pick<TaskDeps, "clock">): number {
  return acceptedAtMs === null ? Number.POSITIVE_INFINITY : clock.now() - acceptedAtMs;
}

/** A wait that ended before the task did. */
export type EarlyEnd = Exclude<WaitResult, { outcome: "ended" }>;

/**
 * The report on a task whose end was not seen. One that no poll saw, and that the ledger does not have as unfinished,
 * need not be running, or even exist.
 */
export function leftUnfinished(
  taskId: string,
  waited: EarlyEnd,
  report: TaskReport,
  deps: Pick<TaskDeps, "signal" | "connection">,
): TaskReport {
  const wasSeen = waited.outcome === "timeout" && waited.wasSeen;
  const isOpen = wasSeen || (report.ledgerId !== null && isResumable(report.state));
  const charged = wasSeen ? "yes" : report.charged;
  const state = isOpen ? "accepted" : report.state;
  return { ...report, state, charged, error: unfinished(waited, taskId, charged, isOpen, deps) };
}

function unfinished(
  waited: EarlyEnd,
  taskId: string,
  charged: Charged,
  isOpen: boolean,
  { signal, connection }: Pick<TaskDeps, "signal" | "connection">,
): ImggenError {
  switch (waited.outcome) {
    case "refused":
      return waited.error;
    case "interrupted":
      return interruptedError(signal, charged);
    case "timeout": {
      const { lastFailure } = waited;
      if (lastFailure !== null && !isOpen) return unseen(lastFailure, charged, connection.serviceUrl);
      const state = lastFailure === null ? "is still running" : `was not seen to finish: ${lastFailure.why}`;
      return new PendingError(`Task ${taskId} ${state}.`, { charged });
    }
  }
}

/** The error of a poll that has no usable answer. */
export function unseen({ connectionError, why }: FailedPoll, charged: Charged, service: URL): ImggenError {
  if (connectionError === null)
    return new ServiceError(`The service gave no usable answer: ${why}.`, { charged });
  const next = "The task itself is not affected. Check the network and try again.";
  const { message, hint } = describeConnectionError(connectionError, service, next);
  return new NetworkError(message, { hint, charged, cause: connectionError });
}
