/** Schedule of a task's polls: the time from each poll to the next. */
export interface PollingSchedule {
  /**
   * Milliseconds until the next poll. `elapsedMs` counts from the task's acceptance; Infinity if that is not known. The
   * result depends on nothing else, so that another process can continue the wait.
   */
  nextDelayMs(elapsedMs: number): number;
}

const YOUNG_MS = 90_000;
const WHILE_YOUNG_MS = 2_800;
const LATER_MS = 3_600;

/**
 * For a task without a history: polls at nearly constant intervals, the best schedule if a task that has run for long is
 * as likely to complete in the next second as a new one. A little more often at first than the reference client
 * (section 4.2: 3 s), and a little less often later. At most 58 polls in any 180 s; the reference client makes 60.
 */
export const defaultSchedule: PollingSchedule = {
  nextDelayMs: (elapsedMs) => (elapsedMs < YOUNG_MS ? WHILE_YOUNG_MS : LATER_MS),
};

const LATE_MS = 500;
const WHILE_LATE_MS = 250;

/**
 * For a service whose tasks are known to take `taskMs`: the first poll comes then, or soon after where the wait begins
 * late. A task that takes half a second longer gets the default schedule.
 */
export function expectedSchedule(taskMs: number): PollingSchedule {
  return {
    nextDelayMs(elapsedMs) {
      if (elapsedMs < taskMs) return taskMs - elapsedMs;
      return elapsedMs < taskMs + LATE_MS ? WHILE_LATE_MS : defaultSchedule.nextDelayMs(elapsedMs);
    },
  };
}

/** A poll every `intervalMs`, as the user asked. */
export function fixedSchedule(intervalMs: number): PollingSchedule {
  return { nextDelayMs: () => intervalMs };
}
