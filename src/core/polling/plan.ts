import { BIN_EDGES_MS, BINS, type Bin, lengthMs, middleMs } from "./bins.ts";
import type { Shares } from "./estimate.ts";
import { interpolate } from "./interpolate.ts";

/** How many polls, fractions included, are due by each of BIN_EDGES_MS. A poll is due whenever this gains one. */
export type Plan = readonly number[];

/** Between two polls, and before the first. */
export const SHORTEST_DELAY_MS = 150;
export const LONGEST_DELAY_MS = 15_000;
/** The share of tasks that is assumed to take longer than any age; keeps the hazard finite. */
const NEVER = 0.05;
/** The reference client's polling interval (section 4.2), and how many polls the plan may spend for one of its. */
const REFERENCE_INTERVAL_MS = 3_000;
const POLLS_PER_REFERENCE_POLL = 1.45;
/** Tasks of a few seconds may have this many polls on average, although the reference client needs fewer. */
const LEAST_ALLOWED_POLLS = 2.3;
/** At most 60 polls in any 180 s, less one for a poll at once and one for a last poll at the deadline. */
const WINDOW_MS = 180_000;
const MOST_IN_WINDOW = 58;
const BISECTIONS = 10;

/**
 * The plan that sees completions soonest for a given mean number of polls. Polling at a rate r costs r polls per
 * millisecond that a task runs, and sees a completion 1/(2r) late: the sum is least where r goes with the square root
 * of the hazard, that is, of how likely a task that still runs is to complete now. The scale of r is found by
 * bisection: as many polls as are allowed.
 *
 * @param estimate how long tasks take: used for the mean number of polls
 * @param forecast the same with the fallback: used for the hazard
 */
export function planPolls(estimate: Shares, forecast: Shares): Plan {
  const weights = rootHazards(forecast);
  const highest = Math.max(...weights);
  const reference = meanPolls(estimate, (bin) => middleMs(bin) / REFERENCE_INTERVAL_MS);
  const allowed = Math.max(LEAST_ALLOWED_POLLS, POLLS_PER_REFERENCE_POLL * reference);
  const planAt = (highestRate: number) =>
    accumulate(weights.map((weight) => (weight / highest) * highestRate));
  let [low, high] = [1 / LONGEST_DELAY_MS, 1 / SHORTEST_DELAY_MS];
  for (let round = 0; round < BISECTIONS; round++) {
    const highestRate = Math.sqrt(low * high);
    if (isAllowed(planAt(highestRate), estimate, allowed)) low = highestRate;
    else high = highestRate;
  }
  return planAt(low);
}

function rootHazards(forecast: Shares): number[] {
  let running = 1;
  return BINS.map((bin, index) => {
    const share = forecast[index] ?? 0;
    running -= share;
    return Math.sqrt(share / lengthMs(bin) / (running + share / 2 + NEVER));
  });
}

/** The polls due by each edge, for rates in polls per millisecond, which are kept between the two limits. */
function accumulate(rates: readonly number[]): Plan {
  let due = 0;
  const sums = BINS.map((bin, index) => {
    const rate = Math.min(1 / SHORTEST_DELAY_MS, Math.max(1 / LONGEST_DELAY_MS, rates[index] ?? 0));
    due += rate * lengthMs(bin);
    return due;
  });
  return [0, ...sums];
}

/** Whether a plan has no more polls than allowed, both on average and in any window. */
function isAllowed(plan: Plan, estimate: Shares, meanAllowed: number): boolean {
  const dueIn = (index: number) => ((plan[index] ?? 0) + (plan[index + 1] ?? 0)) / 2;
  if (meanPolls(estimate, (_, index) => dueIn(index)) > meanAllowed) return false;
  return BIN_EDGES_MS.every(
    (ageMs, index) =>
      interpolate(BIN_EDGES_MS, plan, ageMs + WINDOW_MS) - (plan[index] ?? 0) <= MOST_IN_WINDOW - 1,
  );
}

/** The mean number of polls of a task: those due when it completes, and on average half a poll until that is seen. */
function meanPolls(estimate: Shares, due: (bin: Bin, index: number) => number): number {
  return BINS.reduce((sum, bin, index) => sum + (estimate[index] ?? 0) * due(bin, index), 1 / 2);
}
