import { GenerationFailedError, NetworkError, OutcomeUnknownError } from "../../api/errors.ts";
import { type ErrorType, ImggenError } from "../../lib/errors.ts";
import type { TaskRecord } from "../../task/record.ts";
import { PendingError } from "../errors.ts";
import { reportOf, type TaskReport } from "../task/report.ts";
import type { Attempt } from "./attempts.ts";
import type { PlannedRow } from "./plan.ts";
import { mismatchWarnings } from "./result-mismatch.ts";
import { type RowState, rowStateAfter } from "./row-state.ts";

/** How a row ended. */
export interface RowResult {
  row: PlannedRow;
  state: RowState;
  /** Whether an earlier run has saved it, so that this one had nothing to do. */
  isSkipped: boolean;
  /** null for a row of which nothing was begun. */
  report: TaskReport | null;
  error: ImggenError | null;
  /** Whether this run bought it, or tried to. */
  bought: boolean;
  /** Where the images differ from what was asked. */
  drift: string[];
}

/** A row that was taken as far as its report says. */
export function resultOf(row: PlannedRow, report: TaskReport, bought: boolean): RowResult {
  const drift = mismatchWarnings(report);
  const warnings = [...report.warnings, ...drift];
  const error = report.error instanceof GenerationFailedError ? new RowFailedError(report) : report.error;
  const state = rowStateAfter(report);
  return { row, state, isSkipped: false, report: { ...report, error, warnings }, error, bought, drift };
}

/** The service could not finish a row's task. Unlike `generate`, the same batch does not buy it anew. */
class RowFailedError extends GenerationFailedError {
  constructor({ error, charged }: TaskReport) {
    super(error?.message ?? "", {
      key: error?.key ?? undefined,
      charged,
      cause: error,
      hint: "It may have been charged. This batch does not submit it again: change the row, or imggen rerun <task id>.",
    });
  }
}

export function savedEarlier(row: PlannedRow, report: TaskReport): RowResult {
  return { row, state: "saved", isSkipped: true, report, error: null, bought: false, drift: [] };
}

/** A row that nothing can be reported of but an error. */
export function endedWithout(state: RowState, row: PlannedRow, error: ImggenError): RowResult {
  return { row, state, isSkipped: false, report: null, error, bought: false, drift: [] };
}

/** A row that is not sent any more. @param why what ended it for another row, or for all */
export function notSent(row: PlannedRow, why: ImggenError | null): RowResult {
  return endedWithout("new", row, why === null ? new NetworkError(DOWN) : new NotSentError(why));
}

const DOWN = "The service cannot be reached; this row was not sent.";

/** What ended the batch, said of a row that cost nothing by it. */
class NotSentError extends ImggenError {
  readonly type: ErrorType;

  constructor(why: ImggenError) {
    const hint =
      why.type === "network" && why.hint !== null ? why.hint : "It was not sent, and nothing was charged.";
    super(why.message, { key: why.key ?? undefined, hint, charged: "no", cause: why });
    this.type = why.type;
  }
}

/** A row whose task another process has, and does not let go of. */
export function stillHeld(row: PlannedRow): RowResult {
  const error = new PendingError("Another process is working on this row.", { charged: "unknown" });
  return endedWithout("waiting", row, error);
}

/** A row that may have been bought, as nobody knows: it is left to the user. */
export function leftUnknown(row: PlannedRow, record: TaskRecord): RowResult {
  const report = reportOf(record);
  return resultOf(row, { ...report, error: report.error ?? dismissed(record) }, false);
}

function dismissed({ id }: TaskRecord): OutcomeUnknownError {
  return new OutcomeUnknownError(`Request ${id} was dismissed: whether it was charged was never known.`, {
    hint: "It is left as it is. To submit it again: --resubmit-unknown",
  });
}

/**
 * A row of which cannot be read what became of it: it may well have been charged, so it is left to the user too.
 * @param same a task for the same request, which may be this row's
 */
export function unreadable(row: PlannedRow, entry: Attempt, same: TaskRecord | null): RowResult {
  const what = `What became of this row cannot be read: ${entry?.file}.`;
  const task = same === null ? "" : ` Task ${reportOf(same).taskId ?? same.id} has the same request.`;
  const again = entry?.kind === "lost" ? "Submit it again, at a new charge: --resubmit-unknown" : undefined;
  return endedWithout("unknown", row, new OutcomeUnknownError(what + task, { hint: again }));
}
