import { OLDEST_MS } from "./ages.ts";

/**
 * What is known of a task's duration, milliseconds from its acceptance: it completed after the last look that
 * saw it running (`pendingMs`; null where no look did) and not after the look that saw it completed (`seenMs`).
 */
export interface CompletionInterval {
  pendingMs: number | null;
  seenMs: number;
}

/** A past task as the forecast takes it. */
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

/** The ledger counts whole milliseconds; what is narrower would be divided by next to nothing. */
const NARROWEST_MS = 1;
/** What is wider says something only where its end is little later than its beginning, by this factor at most. */
const WIDE_MS = 15_000;
const CLOSE = 1.5;
/** How much less each task counts than the one after it. */
const FADING = 0.95;

/**
 * Whether an interval tells how long a task took. One that cannot be, as after a clock was set, does not, nor does
 * a wide one: nobody waited, and the task was looked for when somebody came back.
 */
export function isInformative({ pendingMs, seenMs }: CompletionInterval): boolean {
  const afterMs = Math.max(0, pendingMs ?? 0);
  const width = Math.min(seenMs, OLDEST_MS) - afterMs;
  return width >= NARROWEST_MS && (width <= WIDE_MS || seenMs <= CLOSE * afterMs);
}

/** Past tasks, oldest first, with weights. Those whose intervals tell nothing are left out. */
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
