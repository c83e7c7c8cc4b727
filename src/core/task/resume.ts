import { ImggenError } from "../../lib/error-types.ts";
import type { OwnedTask } from "../../store/owners.ts";
import { type Destination, GENERATOR_KEY_ID, type Intent, isSamePlace } from "../../task/intent.ts";
import type { TaskState } from "../../task/lifecycle.ts";
import { isUnknown, type TaskRecord } from "../../task/record.ts";
import type { TaskDeps, UseCaseDeps } from "../deps.ts";
import { ClaimedError } from "../errors.ts";
import { isWhole } from "../images/save-images.ts";
import type { WaitResult, WaitSettings } from "../polling/wait.ts";
import { askQueue } from "./ask-queue.ts";
import { recordNotSent } from "./dismiss.ts";
import { finishTask } from "./finish.ts";
import { factsOf, reportOf, reportOfId, type TaskReport } from "./report.ts";
import type { AcceptedTask } from "./save-task.ts";
import { TaskWriter } from "./task-writer.ts";
import { requireId, settledUnknownId } from "./unknown-id.ts";

export interface ResumeSpec {
  wait: WaitSettings;
  /** Where to save what is finished now, in place of where the task itself says. */
  destination: Destination | null;
  /** Whether a file there that is newer than the task is kept under --overwrite: another row of a batch may be saved in it. */
  keepsNewer?: boolean;
  /** Where a task goes that the ledger does not hold. @throws SaveFailedError if that is the working folder, and gone */
  fallback: () => Destination;
}

/**
 * Finishes a task by its id, the service's or the ledger's. Never throws an expected error: it is in the report.
 * @param record null if the ledger has no such task
 */
export async function resumeNamed(
  id: string,
  record: TaskRecord | null,
  options: ResumeSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  if (record) return resumeFound(record, options, deps);
  return settledUnknownId(await reported(reportOfId(id), () => adopt(id, options, deps)));
}

/**
 * Finishes one task that was asked for. A failed one is polled again: the service may have completed it since. A saved
 * one may be wanted again: somewhere else, or because its files are gone or no longer what was saved. Never throws an
 * expected error.
 */
export async function resumeFound(
  record: TaskRecord,
  options: ResumeSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  const { state } = record;
  if (state.name === "failed")
    return reported(reportOf(record), () => askAgain(record, state, options, deps));
  if (state.name !== "saved") return resumeRecord(record, options, deps);
  if (options.destination === null && (await Promise.all(state.files.map(isWhole))).every(Boolean)) {
    return { ...(await resumeRecord(record, options, deps)), isSavedBefore: true };
  }
  return reported(reportOf(record), () => saveUnowned(record, state, options, deps));
}

/**
 * Finishes one task of the ledger, from wherever its former process left it.
 * @param seen how the wait for it ended, where it was waited for already
 */
export function resumeRecord(
  record: TaskRecord,
  options: ResumeSpec,
  deps: UseCaseDeps,
  seen: WaitResult | null = null,
): Promise<TaskReport> {
  return reported(reportOf(record), async () => {
    const owned = await deps.ledger.claim(record);
    // Nothing is left to do for a saved task, even while the process that saved it is still running.
    if (owned === "elsewhere")
      return record.state.name === "saved" ? reportOf(record) : claimedElsewhere(record);
    // Another process has finished it since it was read.
    if (owned === "finished") return reportOf((await deps.ledger.find(record.id)) ?? record);
    return finishOwned(owned, options, deps, seen);
  });
}

/** What `run` reports; an expected error goes into the report. */
export async function reported(report: TaskReport, run: () => Promise<TaskReport>): Promise<TaskReport> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ImggenError) return { ...report, error };
    throw error;
  }
}

/**
 * Takes a task that this process owns as far as it goes. Never throws an expected error.
 * @param seen how the wait for it ended, where it was waited for already
 */
export async function finishOwned(
  owned: OwnedTask,
  options: ResumeSpec,
  deps: UseCaseDeps,
  seen: WaitResult | null = null,
): Promise<TaskReport> {
  const { record } = owned;
  const { state, intent } = record;
  const report = reportOf(record);
  const release = () => new TaskWriter(deps.ledger, owned, () => {}).release();
  if (isUnknown(record)) {
    if (await isSettledByQueue(owned, deps))
      return resumeRecord((await deps.ledger.find(record.id)) ?? record, options, deps);
    await release();
    return report;
  }
  if (state.name === "rate_limited") return recordNotSent(owned, deps.ledger);
  if (state.name !== "accepted" && state.name !== "completed") {
    // Its process ended just before it moved the file to `done`.
    await new TaskWriter(deps.ledger, owned, () => {}).finish();
    return report;
  }
  const { taskId } = state;
  let taskDeps: TaskDeps;
  try {
    taskDeps = await deps.depsFor(intent.service, taskId);
  } catch (error) {
    await release();
    throw error;
  }
  const onLedgerWarning = (message: string) => taskDeps.onProgress({ type: "ledger_warning", message });
  const task = {
    ...unowned(taskId, state.acceptedAt, intent.destination, options),
    writer: new TaskWriter(deps.ledger, owned, onLedgerWarning),
    // Where another place is asked for, all of it is wanted there.
    saved: state.name === "completed" && isOwnPlace(options, intent) ? state.partlySaved : [],
  };
  return finishTask(task, report, options.wait, taskDeps, seen);
}

/**
 * A task of an earlier run that is saved from the start, and of which nothing is recorded.
 * @param place where the task itself says that its images go
 */
function unowned(
  taskId: string,
  acceptedAt: string | null,
  place: Destination,
  { destination, keepsNewer = false }: ResumeSpec,
): AcceptedTask {
  return {
    taskId,
    writer: null,
    destination: destination ?? recoveryDestination(place),
    acceptedAtMs: acceptedAt === null ? null : Date.parse(acceptedAt),
    recovering: true,
    // The user has named this place now, and so knows what is in it.
    replacesNewer: destination !== null && !keepsNewer,
    saved: [],
  };
}

function isOwnPlace({ destination }: ResumeSpec, intent: Intent): boolean {
  return destination === null || isSamePlace(destination, intent.destination);
}

async function isSettledByQueue(owned: OwnedTask, deps: UseCaseDeps): Promise<boolean> {
  const { id, intent } = owned.record;
  if (intent.service.keyId !== GENERATOR_KEY_ID) return false;
  // Without its generator the outcome stays unknown.
  const taskDeps = await deps.depsFor(intent.service, id).catch(() => null);
  return taskDeps !== null && askQueue(owned, taskDeps);
}

/** The standard output of the original command is gone, so the image becomes a file. */
export function recoveryDestination(destination: Destination): Destination {
  return destination.kind === "stdout" ? { ...destination, kind: "folder" } : destination;
}

export function claimedElsewhere(record: TaskRecord): TaskReport {
  const report = reportOf(record);
  const message = `Another process is working on task ${report.taskId ?? record.id}.`;
  return { ...report, error: new ClaimedError(message, { charged: report.charged }) };
}

/** Polls a failed task again, and saves it if the service has completed it since. */
async function askAgain(
  record: TaskRecord,
  state: Extract<TaskState, { name: "failed" }>,
  options: ResumeSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  if (!(await deps.ledger.isFinished(record.id))) {
    // Its process ended just before that, or is about to do it.
    const standing = await resumeRecord(record, options, deps);
    if (standing.error?.type !== "generation_failed") return standing;
  }
  const report = await saveUnowned(record, state, options, deps);
  if (report.state !== "saved" || report.error !== null) return report;
  const at = report.completedAt ?? record.submittedAt;
  try {
    await deps.ledger.recordLate(record.id, { type: "saved", at, files: report.files });
    return report;
  } catch (error) {
    if (!(error instanceof ImggenError)) throw error;
    return { ...report, warnings: [...report.warnings, error.message] };
  }
}

/** Downloads a finished task once more, for as long as the service has it. Its ledger file is not written to. */
async function saveUnowned(
  record: TaskRecord,
  { taskId, acceptedAt }: { taskId: string; acceptedAt: string },
  options: ResumeSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  const taskDeps = await deps.depsFor(record.intent.service, taskId);
  const task = unowned(taskId, acceptedAt, record.intent.destination, options);
  return finishTask(task, factsOf(record), options.wait, taskDeps);
}

/** Polls a task that the ledger does not have, and saves it. */
async function adopt(taskId: string, options: ResumeSpec, deps: UseCaseDeps): Promise<TaskReport> {
  requireId(taskId);
  const taskDeps = await deps.current();
  const task = unowned(taskId, null, options.destination ?? options.fallback(), options);
  return finishTask(task, reportOfId(taskId), options.wait, taskDeps);
}
