import { type Clock, systemClock } from "../../src/lib/clock.ts";

/** How many times as fast as the system's clock it goes. */
const TIMES = 10;
const START_MS = Date.now();

/**
 * The clock of commands that run in a test's own process: a wait of a second takes a tenth of one, and a deadline comes
 * as much sooner. What happens before what stays as it is. Its dates run ahead, by minutes at most.
 */
export const quickClock: Clock = {
  now: () => START_MS + (systemClock.now() - START_MS) * TIMES,
  monotonicMs: () => systemClock.monotonicMs() * TIMES,
  sleep: (ms, signal) => systemClock.sleep(ms / TIMES, signal),
};

/** How long a wait of that clock really takes, in milliseconds. */
export const quickMs = (ms: number): number => ms / TIMES;
