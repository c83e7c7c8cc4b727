import { mapConcurrent } from "../../lib/concurrency.ts";
import { pause } from "../polling/wait.ts";
import type { PlannedRow } from "./plan.ts";
import { claimedElsewhereResult, type RowResult } from "./row-result.ts";
import { type BatchContext, runRow } from "./run-row.ts";

export interface RunRowsSpec {
  concurrency: number;
  /** Maximum wait for rows of other processes, after all other rows have ended, in milliseconds. */
  timeoutMs: number;
  onEnd: (end: RowResult) => Promise<void>;
  onStart: (row: PlannedRow) => void;
}

/** Interval before another attempt to run rows that other processes are working on, in milliseconds. */
const RETRY_INTERVAL_MS = 300;

/**
 * Runs rows concurrently. After an unexpected error, running rows are finished before the error is thrown.
 * @returns the rows that were not reported, because the signal aborted
 */
export async function runRows(
  rows: readonly PlannedRow[],
  options: RunRowsSpec,
  run: BatchContext,
): Promise<PlannedRow[]> {
  const { clock, signal } = run.deps;
  let waiting = await runOnce(rows, options, run);
  const deadlineMs = clock.monotonicMs() + options.timeoutMs;
  while (waiting.length > 0 && !signal.aborted && clock.monotonicMs() < deadlineMs) {
    if (!(await pause(RETRY_INTERVAL_MS, run.deps))) break;
    waiting = await runOnce(waiting, { ...options, onStart: () => {} }, run);
  }
  if (signal.aborted) return waiting;
  for (const row of waiting) await options.onEnd(claimedElsewhereResult(row));
  return [];
}

/** Finishes running rows even after the signal aborts, because they might have been charged. */
async function runOnce(
  rows: readonly PlannedRow[],
  options: RunRowsSpec,
  run: BatchContext,
): Promise<PlannedRow[]> {
  const hasEnded = await mapConcurrent(rows, options.concurrency, (row) => runAndReport(row, options, run));
  return rows.filter((_, at) => !hasEnded[at]);
}

/** @returns whether the row has ended and was reported */
async function runAndReport(
  row: PlannedRow,
  { onStart, onEnd }: Pick<RunRowsSpec, "onStart" | "onEnd">,
  run: BatchContext,
): Promise<boolean> {
  const { signal } = run.deps;
  if (signal.aborted) return false;
  onStart(row);
  const end = await runRow(row, run).catch((error: unknown) => {
    // After the signal aborts, `runRow` throws if the row was not sent.
    if (signal.aborted) return null;
    throw error;
  });
  if (end === null || end === "elsewhere") return false;
  await onEnd(end);
  return true;
}
