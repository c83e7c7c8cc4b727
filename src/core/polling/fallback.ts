import { BINS, lengthMs, middleMs } from "./ages.ts";
import type { Shares } from "./estimate.ts";

/** What part of a forecast is never learned, however long the history. */
const UNLEARNED = 0.08;
/** A history of this many tasks is believed by half. */
const HALF_BELIEVED = 1.2;
/** How likely a completion before tasks are due is, for one of that part, beside one after it. */
const QUICKER = 0.2;
/** How long such a task takes on the mean, for one of the usual. */
const SLOWER_BY = 1.5;

/**
 * The estimate, with room for a service that has become slower or quicker since: a part of the tasks is taken
 * to be as likely to complete in one second as in the next, once they are due.
 */
export function withFallback(estimate: Shares, historySize: number): Shares {
  const part = Math.max(UNLEARNED, HALF_BELIEVED / (HALF_BELIEVED + historySize));
  const meanMs = BINS.reduce((sum, stretch, index) => sum + middleMs(stretch) * (estimate[index] ?? 0), 0);
  let due = 0;
  const late = BINS.map((stretch, index) => {
    due += estimate[index] ?? 0;
    return Math.max(due, QUICKER) * Math.exp(-middleMs(stretch) / (SLOWER_BY * meanMs)) * lengthMs(stretch);
  });
  const whole = late.reduce((sum, share) => sum + share, 0);
  return late.map((share, index) => part * (share / whole) + (1 - part) * (estimate[index] ?? 0));
}
