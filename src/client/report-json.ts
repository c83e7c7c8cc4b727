import type { CancelReport } from "../core/engine/cancel-task.ts";
import { type ReportStatus, reportStatus, type TaskReport, taskReport } from "../core/engine/report.ts";
import type { ResumeReports, ResumeTarget } from "../core/use-cases/resume.ts";
import type { Charged } from "../lib/error-types.ts";
import { redactAddress } from "../lib/query-secret.ts";
import type { Vocabulary } from "../lib/wording.ts";
import { describeUnreadable, type UnreadableEntry } from "../store/ledger-files.ts";
import { getFreeProvider } from "../task/intent.ts";
import type { SavedFile } from "../task/saved-file.ts";
import { getCharged, getTaskId, type OpenState, openState, type Task } from "../task/task.ts";
import { getExitCode, STILL_RUNNING } from "./exit-codes.ts";
import { describeFailure } from "./failure.ts";
import type {
  CancelResult,
  ErrorDetail,
  GenerateResult,
  HistoryEntry,
  ImageFile,
  ResumeResult,
  StatusResult,
  TaskFacts,
  TaskFailure,
  TaskResult,
} from "./results.ts";

export function reportJson(report: TaskReport, words: Vocabulary): TaskResult {
  const { elapsedMs, files, warnings, reused, error } = report;
  const reusedField = reused && { reused };
  if (error)
    return {
      ...describeFailure(error, words, report),
      ...stateField(report),
      files,
      warnings,
      ...reusedField,
    };
  return { ok: true, ...taskFacts(report), elapsedMs, warnings, ...reusedField };
}

export function savedJson(report: TaskReport, words: Vocabulary): GenerateResult | TaskFailure {
  const result = reportJson(report, words);
  return result.ok ? { ...result, files: result.files.filter(isImageFile) } : result;
}

function isImageFile(file: SavedFile): file is ImageFile {
  return file.path !== null;
}

function taskFacts(report: TaskReport): TaskFacts {
  const { taskId, request, credits, charged, files, usage, submittedAt, completedAt } = report;
  const status = reportStatus(report);
  const usageField = usage && { usage };
  const state = stateField(report);
  return {
    taskId,
    status,
    ...state,
    request,
    credits,
    charged,
    files,
    ...usageField,
    submittedAt,
    completedAt,
  };
}

export function reportExitCode(report: TaskReport): number {
  if (report.error) return getExitCode(report.error);
  return reportStatus(report) === "running" ? STILL_RUNNING : 0;
}

export function taskStatus(report: TaskReport): ReportStatus {
  return reportStatus(report);
}

export function displayState(report: TaskReport): ReportStatus | OpenState {
  return stateField(report).state ?? reportStatus(report);
}

function stateField({ state, ledgerId }: TaskReport): { state?: OpenState } {
  const openTaskState = ledgerId === null ? null : openState(state);
  return openTaskState === null ? {} : { state: openTaskState };
}

export function historyEntry(record: Task): HistoryEntry {
  const report = taskReport(record);
  return {
    id: report.ledgerId,
    ...taskFacts(report),
    service: redactAddress(record.intent.service.baseUrl),
  };
}

/** Returns the JSON of a polled task. Omits the queries of URLs, because a query can contain a signature. */
export function statusJson(report: TaskReport, words: Vocabulary): StatusResult {
  const { files } = report;
  const urls = report.urls.map((url) => url.replace(/[?#].*$/s, ""));
  return { ...reportJson(report, words), status: reportStatus(report), urls, files };
}

export function cancelJson(report: CancelReport, words: Vocabulary): CancelResult {
  return { ...reportJson(report, words), status: reportStatus(report), cancelled: report.cancelled };
}

/** Returns the full id of a task, because the user might have typed only a prefix. */
export function getTargetId({ id, record }: ResumeTarget): string {
  return (record && getTaskId(record)) ?? id ?? record?.id ?? "";
}

/**
 * Whether a provider might have accepted a task, which then continues after a signal. True if the task is not in the
 * ledger.
 */
export function mayBeAccepted({ record }: ResumeTarget): boolean {
  return record === null || getTaskId(record) !== null;
}

/** Whether every task was or might have been charged in real credits. */
export function areCharged(targets: readonly Pick<ResumeTarget, "record">[]): boolean {
  return targets.every(
    ({ record }) =>
      record === null || (getCharged(record) !== "no" && getFreeProvider(record.intent) === null),
  );
}

export function skippedTasks({
  served,
  unreadable,
}: ResumeReports): Pick<ResumeResult, "served" | "unreadable"> {
  const tasks = served.map(({ record, by: server }) => ({ taskId: getTaskId(record), pid: server.pid }));
  return { ...(tasks.length > 0 && { served: tasks }), ...unreadableFiles(unreadable) };
}

export function unreadableFiles(entries: readonly UnreadableEntry[]): Pick<ResumeResult, "unreadable"> {
  const files = entries.map((entry) => ({ file: entry.file, message: describeUnreadable(entry) }));
  return files.length > 0 ? { unreadable: files } : {};
}

/**
 * Error that every call of the package throws. The fields are the same as in a failure in the command line's
 * `--json` output. Use `error.type` to distinguish failures. `cause` is not part of the API.
 */
export class ImggenFailure extends Error implements TaskFailure {
  override readonly name = "ImggenFailure";
  declare readonly ok: false;
  /** The error and its `type`, which determines the exit code of the command line. */
  declare readonly error: ErrorDetail;
  declare readonly taskId: string | null;
  declare readonly charged: Charged;
  declare readonly resume: string | null;
  declare readonly state?: OpenState;
  declare readonly files: SavedFile[];
  declare readonly warnings: string[];
  declare readonly reused?: true;

  constructor(failure: TaskFailure, cause?: unknown) {
    super(failure.error.message, cause === undefined ? undefined : { cause });
    Object.assign(this, failure);
  }

  /** Returns the JSON document that the command line prints for the same failure. */
  toJSON(): TaskFailure {
    const { ok, error, taskId, charged, resume, state, files, warnings, reused } = this;
    const optionalFields = { ...(state && { state }), files, warnings, ...(reused && { reused }) };
    return { ok, error, taskId, charged, resume, ...optionalFields };
  }
}

export function toImggenFailure(error: unknown, words: Vocabulary): ImggenFailure {
  if (error instanceof ImggenFailure) return error;
  return new ImggenFailure({ ...describeFailure(error, words), files: [], warnings: [] }, error);
}

/** @throws ImggenFailure instead of any other error */
export function orFailure<Result>(work: () => Result, words: Vocabulary): Result {
  try {
    return work();
  } catch (error) {
    throw toImggenFailure(error, words);
  }
}
