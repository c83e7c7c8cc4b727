import type { TaskDeps } from "../deps.ts";
import type { PlannedRow } from "./plan.ts";
import { type RowResult, stillHeld } from "./row-result.ts";
import type { BatchContext } from "./run-context.ts";
import { runRow } from "./run-row.ts";

export interface RunOptions {
  /** Rows under way at once. */
  concurrency: number;
  /** Rows that another process has are waited for this long after everything else is done, milliseconds. */
  patienceMs: number;
  /** Told of each row as it ends. */
  onEnd: (end: RowResult) => Promise<void>;
  /** Told when a row begins. */
  onStart: (row: PlannedRow) => void;
}

const LOOK_AGAIN_MS = 300;

/**
 * Runs the rows of a batch, several at once. Ends when every row has ended, or with the signal: rows that were
 * not begun by then are not told of. Where something unforeseen happens, such as a result that nobody takes, no
 * more rows are begun, and it is thrown once those under way have ended.
 * @returns the rows that were not told of
 */
export async function runRows(
  rows: readonly PlannedRow[],
  options: RunOptions,
  run: BatchContext,
): Promise<PlannedRow[]> {
  const { clock, signal } = run.deps;
  let left = await runOnce(rows, options, run);
  const giveUpAtMs = clock.monotonicMs() + options.patienceMs;
  while (left.length > 0 && !signal.aborted && clock.monotonicMs() < giveUpAtMs) {
    if (!(await rested(run.deps))) break;
    left = await runOnce(left, { ...options, onStart: () => {} }, run);
  }
  if (signal.aborted) return left;
  for (const row of left) await options.onEnd(stillHeld(row));
  return [];
}

/** Goes through the rows once. @returns those that were not told of */
async function runOnce(
  rows: readonly PlannedRow[],
  options: RunOptions,
  run: BatchContext,
): Promise<PlannedRow[]> {
  const left: PlannedRow[] = [];
  const failures: unknown[] = [];
  const queue = rows.values();
  const worker = async () => {
    for (const row of queue) {
      if (failures.length > 0) return;
      if (!(await runTold(row, options, run))) left.push(row);
    }
  };
  const fail = (error: unknown) => void failures.push(error);
  // Each of them to its own end: what is under way is paid for.
  const workers = Array.from({ length: Math.min(options.concurrency, rows.length) }, () =>
    worker().catch(fail),
  );
  await Promise.all(workers);
  if (failures.length > 0) throw failures[0];
  return left;
}

/** @returns whether the row has ended, and was told of */
async function runTold(
  row: PlannedRow,
  { onStart, onEnd }: Pick<RunOptions, "onStart" | "onEnd">,
  run: BatchContext,
): Promise<boolean> {
  const { signal } = run.deps;
  if (signal.aborted) return false;
  onStart(row);
  const end = await runRow(row, run).catch((error: unknown) => {
    // The signal came before anything of the row was begun.
    if (signal.aborted) return null;
    throw error;
  });
  if (end === null || end === "held") return false;
  await onEnd(end);
  return true;
}

async function rested({ clock, signal }: Pick<TaskDeps, "clock" | "signal">): Promise<boolean> {
  return clock.sleep(LOOK_AGAIN_MS, signal).then(
    () => true,
    () => false,
  );
}
