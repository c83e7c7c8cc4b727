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

/** No clock tells a look from the one before by less, milliseconds. */
const SHORTEST_MS = 1;
/** How much less each task counts than the one after it. */
const FADING = 0.95;

/** Past tasks, oldest first, with weights. Intervals that cannot be, as after a clock was set, are left out. */
export function weigh(intervals: readonly CompletionInterval[]): History {
  const tasks = intervals
    .map(({ pendingMs, seenMs }) => ({
      afterMs: Math.max(0, pendingMs ?? 0),
      byMs: Math.min(seenMs, OLDEST_MS),
    }))
    .filter(({ afterMs, byMs }) => byMs - afterMs >= SHORTEST_MS);
  const weights = tasks.map((_, index) => FADING ** (tasks.length - 1 - index));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const squares = weights.reduce((total, weight) => total + weight ** 2, 0);
  return {
    tasks: tasks.map((task, index) => ({ ...task, weight: (weights[index] ?? 0) / sum })),
    size: tasks.length === 0 ? 0 : sum ** 2 / squares,
  };
}
