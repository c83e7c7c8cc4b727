import { ImggenError } from "../../lib/error-types.ts";
import type { Ledger } from "../../store/ledger.ts";
import { STATES, type TaskState } from "../../task/lifecycle.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { UseCaseDeps } from "../deps.ts";
import { ClaimedError, describeWorker } from "../errors.ts";
import { isWhole } from "../images/copy-image.ts";
import type { WaitResult } from "../polling/wait.ts";
import { finishOwned, type ResumeSpec } from "./finish-owned.ts";
import { reportOf, type TaskReport } from "./report.ts";
import { saveAgain, settledUnknownId } from "./save-again.ts";

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
  const { state, intent } = record;
  // What another provider calls failed stays so: many give no id to ask about.
  if (state.name === "failed" && !intent.work)
    return reported(reportOf(record), () => askAgain(record, state, options, deps));
  if (state.name !== "saved") return resumeRecord(record, options, deps);
  if (options.destination === null && (await Promise.all(state.files.map(isWhole))).every(Boolean)) {
    return { ...(await resumeRecord(record, options, deps)), isSavedBefore: true };
  }
  return reported(reportOf(record), () => saveAgain(record, state, options, deps));
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
    if (owned === "elsewhere")
      return isAtItsEnd(record) ? reportOf(record) : claimedElsewhere(record, deps.ledger);
    // Another process has finished it since it was read.
    if (owned === "finished") return reportOf((await deps.ledger.find(record.id)) ?? record);
    return finishOwned(owned, options, deps, seen);
  });
}

/** Whether nothing is left to do for a task, even while the process that has ended it is still running. */
function isAtItsEnd({ state, intent }: TaskRecord): boolean {
  // A failed one of the hosted service is polled again.
  return !STATES[state.name].isOpen && (state.name !== "failed" || intent.work !== undefined);
}

/** Calls `run`, and puts an expected error into the report, worded as `settledUnknownId` does. */
export async function reported(report: TaskReport, run: () => Promise<TaskReport>): Promise<TaskReport> {
  try {
    return settledUnknownId(await run());
  } catch (error) {
    if (error instanceof ImggenError) return settledUnknownId({ ...report, error });
    throw error;
  }
}

/** The report on a task that another process has, or another call of this one. */
export async function claimedElsewhere(record: TaskRecord, ledger: Ledger): Promise<TaskReport> {
  const report = reportOf(record);
  const { self } = ledger.processes;
  const worker = describeWorker(await ledger.workerOn(record), self);
  const message = `${worker} is working on task ${report.taskId ?? record.id}.`;
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
  const report = await saveAgain(record, state, options, deps);
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
