/** Schedule of a task's polls. */
export interface PollingSchedule {
  /**
   * Milliseconds until the next poll. The result depends on nothing but the time since the task's acceptance (Infinity if
   * unknown), so that another process can continue the wait.
   */
  nextDelayMs(elapsedMs: number): number;
}

const EARLY_PHASE_MS = 90_000;
const EARLY_INTERVAL_MS = 2_800;
const LATE_INTERVAL_MS = 3_600;

/**
 * For a task without a history: nearly constant intervals, the best schedule if the chance to complete does not depend on the
 * age. A little shorter at first than the reference client's (section 4.2: 3 s), and longer later: at most 58 polls in any
 * 180 s, compared with 60.
 */
export const defaultSchedule: PollingSchedule = {
  nextDelayMs: (elapsedMs) => (elapsedMs < EARLY_PHASE_MS ? EARLY_INTERVAL_MS : LATE_INTERVAL_MS),
};

const GRACE_MS = 500;
const GRACE_INTERVAL_MS = 250;

/**
 * For a service whose tasks are known to take `taskMs`: the first poll is made at that age, or soon after if the wait begins
 * later. Half a second later the default schedule begins.
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
