/** When to poll a task: how long after the last poll the next one comes. */
export interface PollingSchedule {
  /**
   * Milliseconds until the next poll. `elapsedMs` counts from the task's acceptance, and is Infinity where that
   * is not known. The answer depends on it alone, so that another process can continue the wait.
   */
  nextDelayMs(elapsedMs: number): number;
}

const YOUNG_MS = 90_000;
const WHILE_YOUNG_MS = 2_800;
const LATER_MS = 3_600;

/**
 * Polls a task of which nothing is known at nearly even intervals: where a task that has run for long is
 * as likely to complete in the next second as one that has just begun, nothing beats that. A little more often
 * at first than the reference client (section 4.2: 3 s), and a little less often later. At most 58 polls in any
 * 180 s; the reference client makes 60.
 */
export const defaultSchedule: PollingSchedule = {
  nextDelayMs: (elapsedMs) => (elapsedMs < YOUNG_MS ? WHILE_YOUNG_MS : LATER_MS),
};

/** The golden section: multiples of it fall evenly into any interval, however many there are. */
const GOLDEN_SECTION = (Math.sqrt(5) - 1) / 2;
const EARLIEST_FIRST_MS = 2_500;
const FIRST_SPREAD_MS = 1_200;
/** What part of the spread comes before the automatic schedule's own first poll. */
const FIRST_TASK_AT = 0.25;

/**
 * The automatic schedule for the n-th of several tasks begun together: their first polls are spread from 2.5 s to
 * 3.7 s, so that they do not all come at once and the first completion is seen early, which teaches what follows. On
 * the mean that is a little after the automatic schedule's first poll: earlier ones would add a poll to every task and
 * see none complete sooner, as the polls after them come at the same intervals in any case.
 * @param order 0 for the first task, which gets the automatic schedule as it is
 */
export function staggeredSchedule(order: number): PollingSchedule {
  const part = (FIRST_TASK_AT + order * GOLDEN_SECTION) % 1;
  const firstMs = EARLIEST_FIRST_MS + FIRST_SPREAD_MS * part;
  return {
    nextDelayMs: (elapsedMs) =>
      elapsedMs < firstMs ? firstMs - elapsedMs : defaultSchedule.nextDelayMs(elapsedMs),
  };
}

/**
 * For a service whose tasks are known to take `taskMs`: the first poll comes then. A task that takes longer after all
 * gets the automatic schedule.
 */
export function expectedSchedule(taskMs: number): PollingSchedule {
  return {
    nextDelayMs: (elapsedMs) =>
      elapsedMs < taskMs ? taskMs - elapsedMs : defaultSchedule.nextDelayMs(elapsedMs),
  };
}

/** A poll every `intervalMs`, as the user asked. */
export function fixedSchedule(intervalMs: number): PollingSchedule {
  return { nextDelayMs: () => intervalMs };
}
