import { type Clock, systemClock } from "../../src/lib/clock.ts";

/** How many times as fast as the system's clock it goes. */
const TIMES = 10;

/**
 * The clock of commands that run in a test's own process: a wait of a second takes a tenth of one, and a deadline comes
 * as much sooner. Its dates are real, because the age of a file is told by them.
 */
export const quickClock: Clock = {
  now: () => systemClock.now(),
  monotonicMs: () => systemClock.monotonicMs() * TIMES,
  sleep: (ms, signal) => systemClock.sleep(ms / TIMES, signal),
};
