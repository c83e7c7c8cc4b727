import { AGES, EDGES_MS, STEP, stretchAt } from "./ages.ts";
import type { History, PastTask } from "./history.ts";
import { heightAt } from "./line.ts";

/** Share of all tasks that complete in each stretch of AGES; together 1. */
export type Shares = readonly number[];

const ROUNDS = 4;
/** The spread of durations, as a logarithm, before there is a history; it weighs as much as this many tasks. */
const USUAL_SPREAD = 0.3;
const USUAL_SIZE = 1;
/** How likely durations are that are nowhere near the middle one, beside it, before there is a history. */
const UNUSUAL = 0.02;
/** A task that its first look saw completed has taken no less than that look's age over this, as a first guess. */
const FIRST_LOOK_LATE_BY = 1.5;
/** How wide one task's share is smoothed, for the spread of all: less than is best for one hill, as there may be two. */
const SMOOTHING = 0.8;
const SMALLEST_WIDTH = 0.02;

/**
 * How long tasks take, by a history of at least one.
 *
 * A task's share lies somewhere in its interval; where in it, the other tasks tell. Starting from durations
 * spread as usual about the middle one, each round spreads every share over its interval as the round before
 * would have it (maximum likelihood for interval-censored data by expectation and maximisation), and the sum is
 * smoothed. Taking `seenMs` for the duration instead would put every forecast later than the one before it;
 * starting from no opinion would let tasks that were seen at the first look, whose intervals reach down to
 * nothing, be taken for quick ones.
 */
export function estimate({ tasks, size }: History): Shares {
  let shares = usual(tasks);
  for (let round = 0; round < ROUNDS; round++) shares = spreadOver(tasks, shares);
  return smooth(shares, size);
}

/** A bell curve about the middle duration, as a first guess has it; nothing is taken to be impossible. */
function usual(tasks: readonly PastTask[]): Shares {
  const guesses = tasks
    .map(({ afterMs, byMs, weight }) => ({
      stretch: stretchAt(Math.sqrt(Math.max(afterMs, byMs / FIRST_LOOK_LATE_BY) * byMs)),
      weight,
    }))
    .sort((one, other) => one.stretch - other.stretch);
  let sum = 0;
  const middle = guesses.find(({ weight }) => {
    sum += weight;
    return sum >= 1 / 2;
  });
  const centre = middle?.stretch ?? 0;
  return AGES.map((_, index) => UNUSUAL + bell((index - centre) * STEP, USUAL_SPREAD));
}

/** Every task's weight, laid into its interval in proportion to the shares. */
function spreadOver(tasks: readonly PastTask[], shares: Shares): Shares {
  const sums = sumsOf(shares);
  // What a share is multiplied by changes where an interval begins or ends: within that stretch, and after it.
  const within = AGES.map(() => 0);
  const after = AGES.map(() => 0);
  const change = (ageMs: number, by: number) => {
    const index = stretchAt(ageMs);
    const left = partLeft(index, ageMs);
    within[index] = (within[index] ?? 0) + by * left;
    after[index] = (after[index] ?? 0) + by;
  };
  for (const { afterMs, byMs, weight } of tasks) {
    const factor = weight / (heightAt(EDGES_MS, sums, byMs) - heightAt(EDGES_MS, sums, afterMs));
    change(afterMs, factor);
    change(byMs, -factor);
  }
  let factors = 0;
  return shares.map((share, index) => {
    // Where no interval is at hand, what is left of adding and taking away may be a little less than nothing.
    const spread = share * Math.max(0, factors + (within[index] ?? 0));
    factors += after[index] ?? 0;
    return spread;
  });
}

/** The shares that have come together by each of EDGES_MS. */
function sumsOf(shares: Shares): number[] {
  const sums = [0];
  for (const share of shares) sums.push((sums.at(-1) ?? 0) + share);
  return sums;
}

/** What part of a stretch comes after an age that lies in it. */
function partLeft(index: number, ageMs: number): number {
  const [fromMs, toMs] = [EDGES_MS[index] ?? 0, EDGES_MS[index + 1] ?? 0];
  return (toMs - ageMs) / (toMs - fromMs);
}

/** Blurs the shares with a bell curve: the wider they are spread, and the fewer tasks they are of, the more. */
function smooth(shares: Shares, size: number): Shares {
  const variance = (size * spreadOf(shares) ** 2 + USUAL_SIZE * USUAL_SPREAD ** 2) / (size + USUAL_SIZE);
  const width = Math.max(SMALLEST_WIDTH, SMOOTHING * Math.sqrt(variance) * size ** -0.2);
  const reach = Math.ceil((3 * width) / STEP);
  const heights = Array.from({ length: 2 * reach + 1 }, (_, index) => bell((index - reach) * STEP, width));
  const blurred = shares.map(() => 0);
  shares.forEach((share, centre) => {
    if (share === 0) return;
    heights.forEach((height, offset) => {
      const index = Math.min(Math.max(centre + offset - reach, 0), blurred.length - 1);
      blurred[index] = (blurred[index] ?? 0) + share * height;
    });
  });
  const whole = total(blurred);
  return blurred.map((share) => share / whole);
}

/** The height of a bell curve of this width, as a part of its height in the middle. */
function bell(distance: number, width: number): number {
  return Math.exp(-((distance / width) ** 2) / 2);
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
