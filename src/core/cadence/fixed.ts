/** When to look at a task: how long after the last look the next one comes. */
export interface Cadence {
  /**
   * Milliseconds until the next look. `elapsedMs` counts from the task's acceptance, and is Infinity where that
   * is not known. The answer depends on it alone, so that another process can go on with the wait.
   */
  nextDelayMs(elapsedMs: number): number;
}

const YOUNG_MS = 90_000;
const WHILE_YOUNG_MS = 2_800;
const LATER_MS = 3_600;

/**
 * Looks for a task of which nothing is known, at nearly even distances: where a task that has run for long is
 * as likely to complete in the next second as one that has just begun, nothing beats that. A little more often
 * at first than the reference client (section 4.2: 3 s), and a little less often later. At most 58 looks in any
 * 180 s; the reference client makes 60.
 */
export const automaticCadence: Cadence = {
  nextDelayMs: (elapsedMs) => (elapsedMs < YOUNG_MS ? WHILE_YOUNG_MS : LATER_MS),
};

/** A look every `intervalMs`, as the user asked. */
export function uniformCadence(intervalMs: number): Cadence {
  return { nextDelayMs: () => intervalMs };
}
