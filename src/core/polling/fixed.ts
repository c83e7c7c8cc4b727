/** When to poll a task: how long after one poll the next one comes. */
export interface PollingSchedule {
  /**
   * Milliseconds until the next poll. `elapsedMs` counts from the task's acceptance; Infinity if that is not known. The
   * result depends on nothing else, so that another process can continue the wait.
   */
  nextDelayMs(elapsedMs: number): number;
  /**
   * The task's age at its first poll, milliseconds, if that is not simply the first delay. It may become earlier during
   * the wait, so it is read again and again.
   */
  firstPollMs?(): number;
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

/** Multiples of the golden section, modulo 1, are spread evenly however many there are. */
const GOLDEN_SECTION = (Math.sqrt(5) - 1) / 2;
const EARLIEST_FIRST_MS = 2_500;
const FIRST_SPREAD_MS = 1_200;
/** What part of the spread comes before the default schedule's first poll. */
const FIRST_TASK_AT = 0.25;
/** When the second and the third task are polled first. */
const EARLY_FIRST_POLLS_MS: readonly (number | undefined)[] = [undefined, 700, 1_500];

/**
 * A task's age at its first poll, as the n-th of several that were begun together while nothing was known. They are
 * spread from 2.5 s to 3.7 s, so that they do not all come at once and the first completion is seen early: earlier
 * ones would add a poll to every task, and see none complete sooner. Two tasks alone are polled early, to find out for
 * all of them whether tasks take only a second or two.
 * @param order 0 for the first task, which gets the default schedule
 * @returns milliseconds
 */
export function staggeredFirstPollMs(order: number): number {
  const part = (FIRST_TASK_AT + order * GOLDEN_SECTION) % 1;
  return EARLY_FIRST_POLLS_MS[order] ?? EARLIEST_FIRST_MS + FIRST_SPREAD_MS * part;
}

/**
 * For a service whose tasks are known to take `taskMs`: the first poll comes then. A task that takes longer gets the
 * default schedule.
 */
export function expectedSchedule(taskMs: number): PollingSchedule {
  return {
    nextDelayMs: (elapsedMs) =>
      elapsedMs < taskMs ? taskMs - elapsedMs : defaultSchedule.nextDelayMs(elapsedMs),
  };
}

const MOST_LOCAL_MS = 1_000;
const LEAST_LOCAL_MS = 50;

/** For a service in this very process, whose polls cost nothing: soon after one another at first, then once a second. */
export const localSchedule: PollingSchedule = {
  nextDelayMs: (elapsedMs) => Math.min(MOST_LOCAL_MS, Math.max(LEAST_LOCAL_MS, elapsedMs / 8)),
};

/** Of a fixed schedule that a user asks for. */
export const SHORTEST_POLL_INTERVAL_MS = 100;

/** A poll every `intervalMs`, as the user asked. */
export function fixedSchedule(intervalMs: number): PollingSchedule {
  return { nextDelayMs: () => intervalMs };
}
