/** Schedule of a task's polls. */
export interface PollingSchedule {
  /**
   * Milliseconds until the next poll. The result depends only on the time since the task's acceptance (Infinity if
   * unknown), so that another process can continue the wait.
   */
  nextDelayMs(elapsedMs: number): number;
}

const EARLY_PHASE_MS = 90_000;
const EARLY_INTERVAL_MS = 2_800;
const LATE_INTERVAL_MS = 3_600;

/**
 * Schedule for a task without a history. Its intervals are nearly constant, which is best if the chance of a completion
 * does not depend on the task's age. At first the intervals are a little shorter than the reference client's 3 s
 * (section 4.2), and later a little longer, so that there are at most 58 polls in any 180 s. The reference client makes
 * 60.
 */
export const defaultSchedule: PollingSchedule = {
  nextDelayMs: (elapsedMs) => (elapsedMs < EARLY_PHASE_MS ? EARLY_INTERVAL_MS : LATE_INTERVAL_MS),
};

const GRACE_MS = 500;
const GRACE_INTERVAL_MS = 250;

/**
 * Schedule for a service whose tasks take `taskMs`. The first poll is made at this age, or soon afterwards if the wait
 * begins later. After another half second of frequent polls, the default schedule applies.
 */
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
