import { BIN_EDGES_MS, BINS, binAt, STEP } from "./ages.ts";
import type { History, PastTask } from "./history.ts";
import { interpolate } from "./interpolate.ts";

/** Share of all tasks that complete in each stretch of AGES; together 1. */
export type Shares = readonly number[];

const ROUNDS = 4;
/** The spread of durations, as a logarithm, before there is a history; it weighs as much as this many tasks. */
const USUAL_SPREAD = 0.3;
const USUAL_SIZE = 1;
/** The first guess: the least likelihood of any duration, as a part of the likeliest one's. */
const UNUSUAL = 0.02;
/** The first guess: by what factor, at most, a task is older than it took, where its first look saw it completed. */
const FIRST_LOOK_LATE_BY = 1.5;
/** How wide one task's share is smoothed, for the spread of all: less than is best for one hill, as there may be two. */
const SMOOTHING = 0.8;
const SMALLEST_WIDTH = 0.02;

/**
 * How long tasks take, by a history of at least one.
 *
 * A task's share lies somewhere in its interval; where in it, the other tasks tell. Starting from a first guess,
 * each round spreads every share over its interval as the round before would have it (maximum likelihood for
 * interval-censored data by expectation and maximisation), and the sum is smoothed. Taking `seenMs` for the
 * duration instead would put every forecast later than the one before it.
 */
export function estimate({ tasks, size }: History): Shares {
  let shares: readonly number[] = firstGuess(tasks);
  for (let round = 0; round < ROUNDS; round++) shares = spreadOver(tasks, shares);
  return smooth(shares, size);
}

/**
 * Durations spread as usual about the middle one; nothing is taken to be impossible. Starting from no opinion, tasks
 * that their first look saw completed, whose intervals reach down to nothing, would be taken for quick ones.
 * @returns likelihoods, in proportion
 */
function firstGuess(tasks: readonly PastTask[]): number[] {
  const guesses = tasks
    .map(({ afterMs, byMs, weight }) => ({
      stretch: binAt(Math.sqrt(Math.max(afterMs, byMs / FIRST_LOOK_LATE_BY) * byMs)),
      weight,
    }))
    .sort((one, other) => one.stretch - other.stretch);
  let sum = 0;
  const middle = guesses.find(({ weight }) => {
    sum += weight;
    return sum >= 1 / 2;
  });
  const centre = middle?.stretch ?? 0;
  return BINS.map((_, index) => UNUSUAL + bell((index - centre) * STEP, USUAL_SPREAD));
}

/** Every task's weight, laid into its interval in proportion to the shares. */
function spreadOver(tasks: readonly PastTask[], shares: readonly number[]): Shares {
  const sums = sumsOf(shares);
  // Each interval multiplies the shares in it by a factor. Where factors begin and end is noted first: what the
  // sum of those in force changes by after a stretch, and on the mean within it. Then all stretches are passed once.
  const changeAfter = BINS.map(() => 0);
  const changeWithin = BINS.map(() => 0);
  const note = (ageMs: number, factor: number) => {
    const index = binAt(ageMs);
    changeAfter[index] = (changeAfter[index] ?? 0) + factor;
    changeWithin[index] = (changeWithin[index] ?? 0) + factor * partLeft(index, ageMs);
  };
  for (const { afterMs, byMs, weight } of tasks) {
    const factor =
      weight / (interpolate(BIN_EDGES_MS, sums, byMs) - interpolate(BIN_EDGES_MS, sums, afterMs));
    note(afterMs, factor);
    note(byMs, -factor);
  }
  let inForce = 0;
  return shares.map((share, index) => {
    // Where none is in force, what is left of adding and taking away may be a little less than nothing.
    const factor = Math.max(0, inForce + (changeWithin[index] ?? 0));
    inForce += changeAfter[index] ?? 0;
    return share * factor;
  });
}

/** What has come together by each of EDGES_MS. */
function sumsOf(shares: readonly number[]): number[] {
  const sums = [0];
  for (const share of shares) sums.push((sums.at(-1) ?? 0) + share);
  return sums;
}

/** What part of a stretch comes after an age that lies in it. */
function partLeft(index: number, ageMs: number): number {
  const [fromMs, toMs] = [BIN_EDGES_MS[index] ?? 0, BIN_EDGES_MS[index + 1] ?? 0];
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
