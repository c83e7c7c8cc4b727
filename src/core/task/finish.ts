import { describeConnectionError } from "../../api/connection-errors.ts";
import { NetworkError, pausedQueue, ServiceError } from "../../api/errors.ts";
import type { FailedPoll } from "../../providers/service/http-service.ts";
import { isoTime } from "../../lib/clock.ts";
import type { Charged, ImggenError } from "../../lib/error-types.ts";
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
import { type TaskReport, taskFailed, taskLost } from "./report.ts";
import { type AcceptedTask, saveTask } from "./save-task.ts";

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
  const { task: state } = waited;
  const ended = endedReport(task.taskId, state, report);
  const at = isoTime(deps.clock.now());
  switch (state.status) {
    case "completed":
      await deps.schedules.learn(report.request, waited);
      return saveTask(task, { ...waited, task: state }, ended, deps);
    case "failed": {
      const { status: _, ...facts } = state;
      await task.writer?.write({ type: "failed", at, ...facts });
      await task.writer?.finish();
      return ended;
    }
    case "lost":
      await task.writer?.write({ type: "lost", at, why: state.why });
      // Its request may have been charged. It stays among the unfinished: the user decides.
      await task.writer?.release();
      return ended;
  }
}

/** The report on a task that has ended at the service. */
export function endedReport(taskId: string, task: EndedState, report: TaskReport): TaskReport {
  switch (task.status) {
    case "completed": {
      const { urls, usage, why } = task;
      const warnings = why === undefined ? report.warnings : [...report.warnings, why];
      return { ...report, state: "completed", charged: "yes", urls, warnings, ...(usage && { usage }) };
    }
    case "failed": {
      const charged = task.charged ?? STATES.failed.charged;
      return { ...report, state: "failed", charged, error: taskFailed(taskId, task) };
    }
    case "lost":
      return { ...report, state: "lost", charged: STATES.lost.charged, error: taskLost(taskId, task.why) };
  }
}

/** Waits for a task. Nothing is written about it. */
export async function awaitTask(
  { taskId, acceptedAtMs, recovering }: Pick<AcceptedTask, "taskId" | "acceptedAtMs" | "recovering">,
  { request }: TaskReport,
  wait: WaitSettings,
  deps: TaskDeps,
): Promise<WaitResult> {
  const ageMs = acceptedAtMs === null ? Number.POSITIVE_INFINITY : deps.clock.now() - acceptedAtMs;
  const schedule = wait.schedule ?? (await deps.schedules.of(request));
  const usualMs = wait.schedule ? null : await deps.schedules.usualMs(request);
  deps.onProgress({ type: "waiting", taskId, usualMs });
  const timeoutMs = waitTimeoutMs(wait, request, deps.connection.generator);
  const options = { schedule, timeoutMs, ageMs, pollAtOnce: recovering };
  return waitForTask(taskId, options, deps);
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
  const charged = chargedSoFar(taskId, wasSeen ? "yes" : report.charged, deps.connection);
  const state = isOpen ? "accepted" : report.state;
  return { ...report, state, charged, error: unfinished(waited, taskId, charged, isOpen, deps) };
}

/**
 * What an unfinished task has cost. A generator is paid for what it makes: nothing where no request has reached it, and
 * what it makes of one is not known while it works. Nobody waits for the task now, so its queue does not begin it
 * between this answer and what is said.
 * @param asked what a service would have charged for it
 */
export function chargedSoFar(taskId: string, asked: Charged, { generator }: TaskDeps["connection"]): Charged {
  if (generator === undefined) return asked;
  const mayBeSent = generator.hold(taskId);
  return generator.isPaid && mayBeSent ? "unknown" : "no";
}

function unfinished(
  waited: EarlyEnd,
  taskId: string,
  charged: Charged,
  isOpen: boolean,
  { signal, connection }: Pick<TaskDeps, "signal" | "connection">,
): ImggenError {
  switch (waited.outcome) {
    case "refused": {
      const { error } = waited;
      const isOutdated = error.charged === "no" && charged === "unknown" && error.key !== null;
      return isOutdated ? pausedQueue(error.key, error.message, true) : error;
    }
    case "interrupted":
      return interruptedError(signal, charged);
    case "timeout": {
      const { lastFailure, queue } = waited;
      if (lastFailure !== null && !isOpen) return unseen(lastFailure, charged, connection.serviceUrl);
      if (queue?.why != null)
        return new PendingError(`Task ${taskId} still waits. ${queue.why}`, { charged });
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
