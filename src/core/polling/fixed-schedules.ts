/** Schedule of a task's polls. */
export interface PollingSchedule {
  /**
   * Milliseconds until the next poll. Only the task's age (Infinity if unknown) matters, so any process can continue.
   */
  nextDelayMs(elapsedMs: number): number;
}

const EARLY_PHASE_MS = 90_000;
const EARLY_INTERVAL_MS = 2_800;
const LATE_INTERVAL_MS = 3_600;

/**
 * Schedule for a task without a history. The reference client polls every 3 s, 60 times in 180 s (section 4.2). These
 * intervals are at first shorter and later longer, with at most 58 polls in any 180 s.
 */
export const defaultSchedule: PollingSchedule = {
  nextDelayMs: (elapsedMs) => (elapsedMs < EARLY_PHASE_MS ? EARLY_INTERVAL_MS : LATE_INTERVAL_MS),
};

const GRACE_MS = 500;
const GRACE_INTERVAL_MS = 250;

/** Schedule for tasks of a known duration. Frequent polls for half a second at this age, then the default schedule. */
export function expectedSchedule(taskMs: number): PollingSchedule {
  return {
    nextDelayMs(elapsedMs) {
      if (elapsedMs < taskMs) return taskMs - elapsedMs;
      return elapsedMs < taskMs + GRACE_MS ? GRACE_INTERVAL_MS : defaultSchedule.nextDelayMs(elapsedMs);
    },
  };
}

export function fixedSchedule(intervalMs: number): PollingSchedule {
  return { nextDelayMs: () => intervalMs };
}
