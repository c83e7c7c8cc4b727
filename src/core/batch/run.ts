import type { TaskDeps } from "../deps.ts";
import type { PlannedRow } from "./plan.ts";
import { type BatchRun, type RowEnd, runRow } from "./row.ts";

export interface RunOptions {
  /** Rows under way at once. */
  concurrency: number;
  /** Rows that another process has are waited for this long after everything else is done, milliseconds. */
  patienceMs: number;
  /** Told of each row as it ends, one at a time. */
  onEnd: (end: RowEnd) => Promise<void>;
  /** Told when a row begins. */
  onStart: (row: PlannedRow) => void;
}

const LOOK_AGAIN_MS = 300;

/**
 * Runs the rows of a batch, several at once. Ends when every row has ended, or with the signal: rows that were
 * not begun by then are not told of.
 * @returns the rows that were not told of: not begun, or still in another process's hands
 */
export async function runRows(
  rows: readonly PlannedRow[],
  options: RunOptions,
  run: BatchRun,
): Promise<PlannedRow[]> {
  const { clock, signal } = run.deps;
  let held = await runOnce(rows, options, run);
  const giveUpAtMs = clock.monotonicMs() + options.patienceMs;
  while (held.length > 0 && !signal.aborted && clock.monotonicMs() < giveUpAtMs) {
    if (!(await rested(run.deps))) break;
    held = await runOnce(held, options, run);
  }
  return held;
}

/** Goes through the rows once. @returns those that were not told of */
async function runOnce(
  rows: readonly PlannedRow[],
  { concurrency, onEnd, onStart }: RunOptions,
  run: BatchRun,
): Promise<PlannedRow[]> {
  const left: PlannedRow[] = [];
  const queue = rows.values();
  const worker = async () => {
    for (const row of queue) {
      const end = run.deps.signal.aborted ? null : await begin(row, onStart, run);
      if (end === null || end === "held") left.push(row);
      else await onEnd(end);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, rows.length) }, worker));
  return left;
}

/** @returns null where the signal came before anything of the row was begun */
async function begin(
  row: PlannedRow,
  onStart: RunOptions["onStart"],
  run: BatchRun,
): Promise<RowEnd | "held" | null> {
  onStart(row);
  try {
    return await runRow(row, run);
  } catch (error) {
    if (run.deps.signal.aborted) return null;
    throw error;
  }
}

async function rested({ clock, signal }: Pick<TaskDeps, "clock" | "signal">): Promise<boolean> {
  return clock.sleep(LOOK_AGAIN_MS, signal).then(
    () => true,
    () => false,
  );
}
