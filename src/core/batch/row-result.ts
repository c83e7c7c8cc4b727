import { GenerationFailedError, OutcomeUnknownError } from "../../api/api-errors.ts";
import type { Charged, ErrorFacts, ImggenError } from "../../lib/error-types.ts";
import { action, option, phrase, type Wording } from "../../lib/wording.ts";
import { ratioShape } from "../../models/aspect-ratio.ts";
import type { FreeProvider } from "../../task/intent.ts";
import type { Task } from "../../task/task.ts";
import { type TaskReport, taskReport } from "../engine/report.ts";
import { ClaimedError, InheritedError } from "../errors.ts";
import { type Attempt, finalRowState, type PlannedRow, type RowState } from "./plan.ts";

export interface RowResult {
  row: PlannedRow;
  state: RowState;
  /** Whether an earlier run saved the row. */
  isSkipped: boolean;
  report: TaskReport | null;
  error: ImggenError | null;
  /** Whether this run submitted the row or tried to submit it. */
  isSubmitted: boolean;
}

export function rowResult(row: PlannedRow, report: TaskReport, isSubmitted: boolean): RowResult {
  // A mismatch is not added twice if a generator's size check has already reported it.
  const isReported = (warning: string) =>
    report.warnings.some((existing) => existing.endsWith(receivedClause(warning)));
  const mismatches = mismatchWarnings(report).filter((warning) => !isReported(warning));
  const warnings = [...report.warnings, ...mismatches];
  const error = report.error?.type === "generation_failed" ? new RowFailedError(report) : report.error;
  const state = finalRowState(report);
  return { row, state, isSkipped: false, report: { ...report, error, warnings }, error, isSubmitted };
}

function receivedClause(mismatch: string): string {
  return mismatch.slice(mismatch.indexOf(", received "));
}

/** Error of a row whose task failed. The next run resubmits the row only if the task was refused or not sent. */
class RowFailedError extends GenerationFailedError {
  constructor({ state, error, charged, free }: TaskReport) {
    super(error?.message ?? "", {
      key: error?.key ?? undefined,
      charged,
      cause: error,
      hint:
        state === "refused" || state === "not_sent"
          ? "Nothing was charged. The next run of this batch submits the row again."
          : phrase`${describeCharge({ charged, free })} use ${option("retryFailed")} or ${action("run", "rerun <task id>")}.`,
    });
  }
}

function describeCharge({ charged, free }: { charged: Charged; free: FreeProvider | undefined }): string {
  if (free === "sandbox") return "The sandbox is free. To submit the row again,";
  return charged === "no"
    ? "Nothing was charged. To submit the row again,"
    : "It may have been charged. To submit the row again, at a new charge,";
}

export function savedEarlierResult(row: PlannedRow, report: TaskReport): RowResult {
  return { row, state: "saved", isSkipped: true, report, error: null, isSubmitted: false };
}

export function errorResult(state: RowState, row: PlannedRow, error: ImggenError): RowResult {
  return { row, state, isSkipped: false, report: null, error, isSubmitted: false };
}

/** @param cause the error that stopped the batch or caused the outage */
export function notSentResult(row: PlannedRow, cause: ImggenError): RowResult {
  const { message: reason, hint: advice } = cause.wording;
  const hint = cause.type === "network" && advice !== undefined ? advice : "Nothing was charged.";
  const message = ["This row was not sent.", reason];
  return errorResult("new", row, inheritError(cause, message, { hint, charged: "no" }));
}

function inheritError(
  cause: ImggenError,
  message: Wording,
  facts: Pick<ErrorFacts, "hint" | "charged">,
): InheritedError {
  return new InheritedError(cause.type, message, { key: cause.key ?? undefined, cause, ...facts });
}

export function claimedElsewhereResult(row: PlannedRow): RowResult {
  const error = new ClaimedError("Another process is working on this row.", { charged: "unknown" });
  return errorResult("waiting", row, error);
}

export function unknownResult(row: PlannedRow, task: Task): RowResult {
  const report = taskReport(task);
  return rowResult(row, { ...report, error: report.error ?? dismissedError(task) }, false);
}

function dismissedError({ id }: Task): OutcomeUnknownError {
  return new OutcomeUnknownError(`Request ${id} was dismissed. It may have been charged.`, {
    hint: phrase`The row was not submitted again. To submit it again, at a new charge: ${option("resubmitUnknown")}`,
  });
}

const RESUBMIT_ADVICE = phrase`To submit the row again, at a new charge: ${option("resubmitUnknown")}`;

/**
 * Result of a row with a damaged or lost record. The row might have been charged, so the user must decide.
 * @param similarTask another task with the same request, which might be the row's task
 */
export function unreadableResult(row: PlannedRow, entry: Attempt, similarTask: Task | null): RowResult {
  const message = `The record of this row cannot be read: ${entry?.file}.`;
  const task =
    similarTask === null
      ? ""
      : ` Task ${taskReport(similarTask).taskId ?? similarTask.id} has the same request.`;
  const hint = entry?.kind === "lost" ? RESUBMIT_ADVICE : undefined;
  return errorResult("unknown", row, new OutcomeUnknownError(message + task, { hint }));
}

/** Result of a row whose record was not read because of a disk error. This run sent nothing for the row. */
export function unreadRowResult(row: PlannedRow, cause: ImggenError): RowResult {
  const { message, hint = "Nothing was sent." } = cause.wording;
  return errorResult("unknown", row, inheritError(cause, message, { hint, charged: "unknown" }));
}

/** Allowed difference of the logarithms of two ratios (about 5 %), because models round the sides of images. */
const RATIO_TOLERANCE = 0.05;

export function mismatchWarnings({ request, files }: Pick<TaskReport, "request" | "files">): string[] {
  if (request === null || files.length === 0) return [];
  const { ratio, maxImages } = request;
  const warnings: string[] = [];
  if (maxImages !== undefined && maxImages !== files.length)
    warnings.push(
      `requested ${maxImages} ${maxImages === 1 ? "image" : "images"}, received ${files.length}.`,
    );
  const wantedRatio = ratio === undefined ? null : ratioShape(ratio);
  for (const { width, height } of wantedRatio === null ? [] : files) {
    if (width > 0 && Math.abs(Math.log(width / height) - (wantedRatio ?? 0)) > RATIO_TOLERANCE)
      warnings.push(`requested ${ratio}, received ${width}×${height}.`);
  }
  return warnings;
}
