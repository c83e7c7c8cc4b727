import { BINS, lengthMs, middleMs } from "./bins.ts";
import type { Shares } from "./estimate.ts";

/** The least weight of the fallback, however long the history. */
const LEAST_WEIGHT = 0.08;
/** With a history of this many tasks the fallback and the estimate weigh the same. */
const HALF_WEIGHT_SIZE = 1.2;
/** How likely the fallback takes a completion to be before the estimate expects any, compared with one after it. */
const EARLY = 0.2;
/** The mean duration in the fallback, as a factor of the estimate's. */
const SLOWER_BY = 1.5;

/**
 * Mixes the estimate with a fallback, for a service that has become slower or faster than its history. The fallback
 * assumes that tasks complete at a constant rate once the estimate expects them, and at a fifth of it before.
 */
export function withFallback(estimate: Shares, historySize: number): Shares {
  const weight = Math.max(LEAST_WEIGHT, HALF_WEIGHT_SIZE / (HALF_WEIGHT_SIZE + historySize));
  const meanMs = BINS.reduce((sum, bin, index) => sum + middleMs(bin) * (estimate[index] ?? 0), 0);
  let expected = 0;
  const heights = BINS.map((bin, index) => {
    expected += estimate[index] ?? 0;
    return Math.max(expected, EARLY) * Math.exp(-middleMs(bin) / (SLOWER_BY * meanMs)) * lengthMs(bin);
  });
  const whole = heights.reduce((sum, height) => sum + height, 0);
  return heights.map((height, index) => weight * (height / whole) + (1 - weight) * (estimate[index] ?? 0));
}
