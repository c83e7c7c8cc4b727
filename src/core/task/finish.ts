import { pausedQueue } from "../../api/errors.ts";
import { isoTime } from "../../lib/clock.ts";
import { type Charged, ImggenError } from "../../lib/error-types.ts";
import type { Destination } from "../../task/intent.ts";
import { isResumable, STATES } from "../../task/lifecycle.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import type { TaskDeps } from "../deps.ts";
import { interruptedError, PendingError } from "../errors.ts";
import { saveImages } from "../images/save-images.ts";
import type { SaveResult } from "../images/save-spec.ts";
import type { SidecarFacts } from "../images/sidecar.ts";
import type { CompletionInterval } from "../polling/estimate.ts";
import { unseen } from "../polling/poll-once.ts";
import {
  type EndedState,
  type WaitResult,
  type WaitSettings,
  waitForTask,
  waitTimeoutMs,
} from "../polling/wait.ts";
import { elapsedMs, type TaskReport, taskFailed, taskLost } from "./report.ts";
import type { TaskWriter } from "./task-writer.ts";

/** A task that exists at the service, and what is known about it. */
export interface AcceptedTask {
  taskId: string;
  /** null for a task that the ledger does not hold. */
  writer: TaskWriter | null;
  destination: Destination;
  /** When the service accepted it, milliseconds since the epoch; null if that is not known. */
  acceptedAtMs: number | null;
  /** Whether another process has worked on it before. */
  recovering: boolean;
  /** Whether a file that is newer than the task is replaced under --overwrite: its place was asked for in this run. */
  replacesNewer?: boolean;
  /** The images that process saved, by the position of their result URL. */
  saved: readonly (SavedFile | null)[];
  /** Files of its images elsewhere, by the same position: copied, where they are whole, rather than downloaded. */
  copies?: readonly SavedFile[];
}

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
function chargedSoFar(taskId: string, asked: Charged, { generator }: TaskDeps["connection"]): Charged {
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

/** Saves the images of a completed task. */
async function saveTask(
  task: AcceptedTask,
  seen: CompletionInterval & { task: Extract<EndedState, { status: "completed" }> },
  report: TaskReport,
  deps: TaskDeps,
): Promise<TaskReport> {
  // A task that was saved before, or whose saving failed, was completed then.
  const completedAt = report.completedAt ?? isoTime(deps.clock.now());
  const { urls, usage } = seen.task;
  const [seenMs, pendingMs] = [finiteMs(seen.seenMs), finiteMs(seen.pendingMs)];
  await task.writer?.write({
    type: "completed",
    at: completedAt,
    urls,
    seenMs,
    pendingMs,
    ...(usage && { usage }),
  });
  const completed: TaskReport = {
    ...report,
    completedAt,
    elapsedMs: elapsedMs(report.submittedAt, completedAt),
  };
  const result: SaveResult = { files: [], warnings: [] };
  const date = new Date(task.acceptedAtMs ?? deps.clock.now());
  const spec = {
    taskId: task.taskId,
    request: report.request,
    facts: sidecarFacts(completed, task.taskId, deps),
    destination: task.destination,
    urls,
    saved: task.saved,
    copies: task.copies ?? [],
    freshUrls: () => freshUrls(task.taskId, deps),
    stem: report.ledgerId ?? `task-${task.taskId.replace(/[^A-Za-z0-9]/g, "").slice(-32)}`,
    date,
    keepsSinceMs: task.replacesNewer ? Number.POSITIVE_INFINITY : date.getTime(),
    recovering: task.recovering,
    owned: task.writer !== null,
  };
  let failure: unknown = null;
  try {
    await saveImages(spec, result, deps);
  } catch (error) {
    failure = error;
  }
  const files = result.files.filter((file) => file !== null);
  const warnings = [...completed.warnings, ...result.warnings];
  if (failure === null) return recordSaved(task, { ...completed, files, warnings }, deps);
  await recordPart(task, result, deps);
  const charged = deps.connection.generator?.isPaid === false ? "no" : "yes";
  const expected = deps.signal.aborted ? interruptedError(deps.signal, charged) : failure;
  if (!(expected instanceof ImggenError)) throw expected;
  return { ...completed, charged, files, warnings, error: expected };
}

function sidecarFacts(report: TaskReport, taskId: string, { connection }: TaskDeps): SidecarFacts | null {
  const { request, credits, submittedAt, completedAt, usage } = report;
  const service = connection.identity.baseUrl;
  const facts = { taskId, service, credits, submittedAt, completedAt, ...(usage && { usage }) };
  return request && { ...facts, request };
}

/** Records the images saved so far: they need not be downloaded again, and their URLs may have expired by then. */
async function recordPart(task: AcceptedTask, { files }: SaveResult, deps: TaskDeps): Promise<void> {
  const isNew = files.some((file, at) => file !== null && file !== task.saved[at]);
  if (isNew) await task.writer?.write({ type: "partly_saved", at: isoTime(deps.clock.now()), files });
  await task.writer?.release();
}

async function recordSaved(task: AcceptedTask, report: TaskReport, deps: TaskDeps): Promise<TaskReport> {
  await task.writer?.write({ type: "saved", at: isoTime(deps.clock.now()), files: report.files });
  await task.writer?.finish();
  return { ...report, state: "saved" };
}

async function freshUrls(taskId: string, deps: TaskDeps): Promise<string[] | null> {
  const reply = await deps.connection.service.poll(taskId, undefined, deps.signal);
  return reply.outcome === "state" && reply.task.status === "completed" ? reply.task.urls : null;
}

/** Whole milliseconds for the record; null if the task's age was not known. */
function finiteMs(ms: number | null): number | null {
  return ms !== null && Number.isFinite(ms) ? Math.round(ms) : null;
}
