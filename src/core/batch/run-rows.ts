import { NoRoomError } from "../../api/api-errors.ts";
import { isRetryable } from "../../api/retry.ts";
import { mapConcurrent } from "../../lib/concurrency.ts";
import { errorCode } from "../../lib/error-text.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { STATES } from "../../task/task.ts";
import type { Task } from "../../task/task.ts";
import { identityOf } from "../engine/deps.ts";
import { isOfAccount } from "../errors.ts";
import { pause } from "../polling/wait.ts";
import { reportOf } from "../engine/report.ts";
import { readAttempt, rowStateOf } from "./attempts.ts";
import { isToSubmit, type PlannedRow } from "./plan.ts";
import { resumeRow } from "./resume-row.ts";
import {
  endedWithout,
  notRead,
  notSent,
  type RowResult,
  resultOf,
  rowClaimedElsewhere,
  unreadable,
} from "./row-result.ts";
import { type BatchContext, type Step, submitRow } from "./submit-row.ts";

export interface RunRowsSpec {
  /** Rows under way at once. */
  concurrency: number;
  /** How long to wait for rows that another process holds, after all others have ended, milliseconds. */
  patienceMs: number;
  /** Called for each row as it ends. */
  onEnd: (end: RowResult) => Promise<void>;
  /** Called when a row begins. */
  onStart: (row: PlannedRow) => void;
}

/** How often rows that another process holds are tried again. */
const TRY_AGAIN_MS = 300;

/**
 * Runs the rows of a batch, several at once, until every row has ended or the signal aborts; rows not begun by then
 * are not reported. After an unexpected error, such as `onEnd` rejecting, no more rows are begun, and the error is
 * thrown once the running ones have ended.
 * @returns the rows that were not reported
 */
export async function runRows(
  rows: readonly PlannedRow[],
  options: RunRowsSpec,
  run: BatchContext,
): Promise<PlannedRow[]> {
  const { clock, signal } = run.deps;
  let left = await runOnce(rows, options, run);
  const giveUpAtMs = clock.monotonicMs() + options.patienceMs;
  while (left.length > 0 && !signal.aborted && clock.monotonicMs() < giveUpAtMs) {
    if (!(await pause(TRY_AGAIN_MS, run.deps))) break;
    left = await runOnce(left, { ...options, onStart: () => {} }, run);
  }
  if (signal.aborted) return left;
  for (const row of left) await options.onEnd(rowClaimedElsewhere(row));
  return [];
}

/** Goes through the rows once. Every running row is finished: it has been charged. @returns those that were not reported */
async function runOnce(
  rows: readonly PlannedRow[],
  options: RunRowsSpec,
  run: BatchContext,
): Promise<PlannedRow[]> {
  const hasEnded = await mapConcurrent(rows, options.concurrency, (row) => runReported(row, options, run));
  return rows.filter((_, at) => !hasEnded[at]);
}

/** @returns whether the row has ended and was reported */
async function runReported(
  row: PlannedRow,
  { onStart, onEnd }: Pick<RunRowsSpec, "onStart" | "onEnd">,
  run: BatchContext,
): Promise<boolean> {
  const { signal } = run.deps;
  if (signal.aborted) return false;
  onStart(row);
  const end = await runRow(row, run).catch((error: unknown) => {
    // The signal aborted before the row was begun.
    if (signal.aborted) return null;
    throw error;
  });
  if (end === null || end === "elsewhere") return false;
  await onEnd(end);
  return true;
}

/** Disk errors that the next image would meet too. */
const DISK_IS_OUT: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EROFS", "EIO"]);

/** Whether the batch submits no more rows after this error. Running rows are finished. */
function endsAll(error: ImggenError): boolean {
  if (isOfAccount(error) || error.type === "budget_exceeded") return true;
  if (error.type === "network" && !isRetryable(error)) return true;
  if (error instanceof NoRoomError) return true;
  return error.type === "save_failed" && DISK_IS_OUT.has(errorCode(error.cause) ?? "");
}

/**
 * Runs one row to its end: submits it, or continues from its state after an earlier run.
 * @returns "elsewhere" while another process is working on it
 * @throws the signal's reason, if nothing was begun
 */
export async function runRow(row: PlannedRow, run: BatchContext): Promise<RowResult | "elsewhere"> {
  for (;;) {
    const step = await nextStep(row, run).catch((error: unknown) => failedRow(row, error, run));
    if (step === "again") continue;
    if (step === "elsewhere" || !step.error || !endsAll(step.error)) return step;
    const { stopped } = run.admission;
    run.admission.stop(step.error);
    // What stopped the batch is said of the row that met it first.
    return stopped !== null && step.state === "failed" && step.report?.charged === "no"
      ? notSent(row, stopped)
      : step;
  }
}

/** An error of one row, such as a task of another account, does not end the batch. */
function failedRow(row: PlannedRow, error: unknown, { deps }: BatchContext): RowResult {
  if (!(error instanceof ImggenError) || error === deps.signal.reason) throw error;
  return isToSubmit(row) ? endedWithout("failed", row, error) : notRead(row, error);
}

async function nextStep(row: PlannedRow, run: BatchContext): Promise<Step> {
  const { ledger } = run.deps;
  const id = row.attempts.at(-1);
  const entry =
    id === undefined ? null : await readAttempt(row, row.attempts.length - 1, { claims: run.claims, ledger });
  // A task in its wait after a 429 must be claimed first: the process that submits it may be alive.
  const waits = entry?.kind === "task" && entry.record.state.name === "rate_limited";
  if (!waits && rowStateOf(entry) === "new") return submitRow(row, entry === null ? (id ?? null) : null, run);
  if (entry?.kind === "lost") {
    if (entry.record !== null && ledger.isUnderWay(entry.record)) return "elsewhere";
    if (row.resubmit === row.attempts.at(-1)) return submitRow(row, null, run);
  }
  if (entry?.kind !== "task") return unreadable(row, entry, await sameRequest(row, run));
  const { record, file } = entry;
  if (STATES[record.state.name].isOpen && file === run.claims.fileOf(row.key, row.attempts.length)) {
    await ledger.restore(record.id, file);
    return "again";
  }
  return resumeRow(row, record, run).catch((error: unknown) => {
    if (!(error instanceof ImggenError) || error === run.deps.signal.reason) throw error;
    // The error is this run's; what the record says was charged stays true.
    return resultOf(row, { ...reportOf(record), error }, false);
  });
}

/** The newest task for the row's request that is not one of its attempts: perhaps the one that a damaged claim named. */
async function sameRequest(
  { checked, attempts }: PlannedRow,
  { deps }: BatchContext,
): Promise<Task | null> {
  for await (const record of deps.ledger.sameRequest(identityOf(checked.request, deps.connection))) {
    if (!attempts.includes(record.id)) return record;
  }
  return null;
}
