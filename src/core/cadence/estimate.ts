import { AGES, lengthMs, STEP, type Stretch, stretchAt } from "./ages.ts";
import type { History, PastTask } from "./history.ts";

/** Share of all tasks that complete in each stretch of AGES; together 1. */
export type Shares = readonly number[];

const ROUNDS = 4;
/** The spread of durations, as a logarithm, before there is a history; it weighs as much as this many tasks. */
const USUAL_SPREAD = 0.3;
const USUAL_SIZE = 2;
/** How wide one task's share is smoothed, for the spread of all: less than is best for one hill, as there may be two. */
const SMOOTHING = 0.8;
const SMALLEST_WIDTH = 0.04;

/**
 * How long tasks take, by a history of at least one.
 *
 * A task's share lies somewhere in its interval; where in it, the other tasks tell. Starting from no opinion,
 * each round spreads every share over its interval as the round before would have it, and smooths the sum
 * (maximum likelihood for interval-censored data by expectation and maximisation, with a smoothing step).
 * Taking `seenMs` for the duration instead would put every forecast later than the one before it.
 */
export function estimate({ tasks, size }: History): Shares {
  let shares: Shares = AGES.map(() => 1);
  for (let round = 0; round < ROUNDS; round++) {
    shares = smooth(spreadOver(tasks, shares), size);
  }
  return shares;
}

/** Every task's weight, laid into its interval in proportion to the shares. */
function spreadOver(tasks: readonly PastTask[], shares: Shares): Shares {
  const sums = AGES.map(() => 0);
  for (const task of tasks) {
    const first = stretchAt(task.afterMs);
    const stretches = AGES.slice(first, stretchAt(task.byMs) + 1);
    const parts = stretches.map((stretch, index) => (shares[first + index] ?? 0) * overlap(stretch, task));
    const whole = total(parts);
    parts.forEach((part, index) => {
      sums[first + index] = (sums[first + index] ?? 0) + (part / whole) * task.weight;
    });
  }
  return sums;
}

/** What part of a stretch lies in a task's interval. */
function overlap(stretch: Stretch, { afterMs, byMs }: PastTask): number {
  const ms = Math.min(stretch.toMs, byMs) - Math.max(stretch.fromMs, afterMs);
  return Math.max(0, ms) / lengthMs(stretch);
}

/** Blurs the shares with a bell curve: the wider they are spread, and the fewer tasks they are of, the more. */
function smooth(shares: Shares, size: number): Shares {
  const variance = (size * spreadOf(shares) ** 2 + USUAL_SIZE * USUAL_SPREAD ** 2) / (size + USUAL_SIZE);
  const width = Math.max(SMALLEST_WIDTH, SMOOTHING * Math.sqrt(variance) * size ** -0.2) / STEP;
  const reach = Math.ceil(3 * width);
  const bell = Array.from({ length: 2 * reach + 1 }, (_, index) =>
    Math.exp(-(((index - reach) / width) ** 2) / 2),
  );
  const blurred = shares.map(() => 0);
  shares.forEach((share, centre) => {
    if (share === 0) return;
    bell.forEach((height, offset) => {
      const index = Math.min(Math.max(centre + offset - reach, 0), blurred.length - 1);
      blurred[index] = (blurred[index] ?? 0) + share * height;
    });
  });
  const whole = total(blurred);
  return blurred.map((share) => share / whole);
}

/** The standard deviation of a bell curve with the same quartiles, as a logarithm. */
function spreadOf(shares: Shares): number {
  return ((quantile(shares, 0.75) - quantile(shares, 0.25)) * STEP) / 1.35;
}

/** The index in AGES by which this part of the tasks has completed. */
function quantile(shares: Shares, part: number): number {
  let sum = 0;
  return shares.findIndex((share) => {
    sum += share;
    return sum >= part;
  });
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
