/**
 * When a task completed, as far as polls can tell, in milliseconds from its acceptance: after the last poll that found
 * it running (`pendingMs`, null if none did), and not after the poll that found it completed (`seenMs`).
 */
export interface CompletionInterval {
  pendingMs: number | null;
  seenMs: number;
}

/** A past task, ready for the estimate. */
export interface PastTask {
  afterMs: number;
  byMs: number;
  /** How much it counts. All tasks together count 1. */
  weight: number;
}

export interface History {
  tasks: PastTask[];
  /** How many tasks of equal weight would say as much. */
  size: number;
}

/** Where the estimate ends: a task that took longer counts as one of this age. */
export const OLDEST_MS = 1_800_000;
/** The ledger counts whole milliseconds. */
const NARROWEST_MS = 1;
/** A wider interval is informative only if its end is at most 1.5 × its start. */
const WIDE_MS = 15_000;
const WIDE_RATIO = 1.5;
/** How much less each task counts than the one after it: after 14 tasks, half. */
const FADING = 0.95;

/**
 * Whether an interval says how long a task took. It does not if it is impossible, as after a clock was set back, or if
 * it is wide: then no process was waiting, and the task was polled much later.
 */
export function isInformative({ pendingMs, seenMs }: CompletionInterval): boolean {
  const afterMs = Math.max(0, pendingMs ?? 0);
  const width = Math.min(seenMs, OLDEST_MS) - afterMs;
  return width >= NARROWEST_MS && (width <= WIDE_MS || seenMs <= WIDE_RATIO * afterMs);
}

/** The informative ones of past tasks, oldest first, with weights. */
export function weigh(intervals: readonly CompletionInterval[]): History {
  const tasks = intervals.filter(isInformative).map(({ pendingMs, seenMs }) => ({
    afterMs: Math.max(0, pendingMs ?? 0),
    byMs: Math.min(seenMs, OLDEST_MS),
  }));
  const weights = tasks.map((_, index) => FADING ** (tasks.length - 1 - index));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const squares = weights.reduce((total, weight) => total + weight ** 2, 0);
  return {
    tasks: tasks.map((task, index) => ({ ...task, weight: (weights[index] ?? 0) / sum })),
    size: tasks.length === 0 ? 0 : sum ** 2 / squares,
  };
}
