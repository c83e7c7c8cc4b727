/** When to look at a task: how long after the last look the next one comes. */
export interface Cadence {
  /** Milliseconds until the next look. `elapsedMs` counts from the task's acceptance. */
  nextDelayMs(elapsedMs: number): number;
}

const SHORTEST_MS = 500;
const LONGEST_MS = 5_000;
const GROWTH = 0.12;

/**
 * Looks that grow sparser with the task's age: how long a task will still take is about proportional to how
 * long it has taken. From acceptance on this makes 56 looks in the first 180 s and 36 in any later 180 s; the
 * reference client (section 4.2) makes 60.
 */
export const automaticCadence: Cadence = {
  nextDelayMs: (elapsedMs) => Math.min(LONGEST_MS, Math.max(SHORTEST_MS, elapsedMs * GROWTH)),
};

/** A look every `intervalMs`, as the user asked. */
export function uniformCadence(intervalMs: number): Cadence {
  return { nextDelayMs: () => intervalMs };
}
