import {
  BIN_EDGES_MS,
  BINS,
  type Bin,
  type CompletionInterval,
  estimate,
  lengthMs,
  middleMs,
  type Shares,
  weigh,
  withFallback,
} from "./estimate.ts";
import { defaultSchedule, type PollingSchedule } from "./fixed-schedules.ts";

/** How many polls, fractions included, are due by each of BIN_EDGES_MS. A poll is due whenever this gains one. */
type Plan = readonly number[];

/** Between two polls, and before the first. */
const SHORTEST_DELAY_MS = 150;
const LONGEST_DELAY_MS = 15_000;
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
 * Polls often at ages at which past tasks completed, and rarely at others. The default schedule if there is no history or
 * the task's age is not known.
 *
 * @param history past tasks of the same kind, oldest first; the last 50 are plenty
 */
export function learnedSchedule(history: readonly CompletionInterval[]): PollingSchedule {
  const past = weigh(history);
  if (past.size === 0) return defaultSchedule;
  const estimated = estimate(past);
  const plan = planPolls(estimated, withFallback(estimated, past.size));
  const dueBy = (ageMs: number) => interpolate(BIN_EDGES_MS, plan, ageMs);
  const ageAt = (polls: number) => interpolate(plan, BIN_EDGES_MS, polls);
  return {
    nextDelayMs: (elapsedMs) =>
      Number.isFinite(elapsedMs)
        ? Math.max(SHORTEST_DELAY_MS, ageAt(dueBy(elapsedMs) + 1) - elapsedMs)
        : defaultSchedule.nextDelayMs(elapsedMs),
  };
}

/**
 * The plan that sees completions soonest for a given mean number of polls. Polling at a rate r costs r polls per
 * millisecond that a task runs, and sees a completion 1/(2r) late: the sum is least where r goes with the square root
 * of the hazard, that is, of how likely a task that still runs is to complete now. The scale of r is found by
 * bisection: as many polls as are allowed.
 *
 * @param estimated how long tasks take: used for the mean number of polls
 * @param forecast the same with the fallback: used for the hazard
 */
function planPolls(estimated: Shares, forecast: Shares): Plan {
  const weights = rootHazards(forecast);
  const highest = Math.max(...weights);
  const reference = meanPolls(estimated, (bin) => middleMs(bin) / REFERENCE_INTERVAL_MS);
  const allowed = Math.max(LEAST_ALLOWED_POLLS, POLLS_PER_REFERENCE_POLL * reference);
  const planAt = (highestRate: number) =>
    accumulate(weights.map((weight) => (weight / highest) * highestRate));
  let [low, high] = [1 / LONGEST_DELAY_MS, 1 / SHORTEST_DELAY_MS];
  for (let round = 0; round < BISECTIONS; round++) {
    const highestRate = Math.sqrt(low * high);
    if (isAllowed(planAt(highestRate), estimated, allowed)) low = highestRate;
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
function isAllowed(plan: Plan, estimated: Shares, meanAllowed: number): boolean {
  const dueIn = (index: number) => ((plan[index] ?? 0) + (plan[index + 1] ?? 0)) / 2;
  if (meanPolls(estimated, (_, index) => dueIn(index)) > meanAllowed) return false;
  return BIN_EDGES_MS.every(
    (ageMs, index) =>
      interpolate(BIN_EDGES_MS, plan, ageMs + WINDOW_MS) - (plan[index] ?? 0) <= MOST_IN_WINDOW - 1,
  );
}

/** The mean number of polls of a task: those due when it completes, and on average half a poll until that is seen. */
function meanPolls(estimated: Shares, due: (bin: Bin, index: number) => number): number {
  return BINS.reduce((sum, bin, index) => sum + (estimated[index] ?? 0) * due(bin, index), 1 / 2);
}

/**
 * The value at `x` of a piecewise linear function through the points (xs, ys). Beyond the last point its last slope
 * continues. Exchange `xs` and `ys` for the inverse of a rising function.
 *
 * @param xs rising; at least two
 * @param ys as many as xs
 */
function interpolate(xs: readonly number[], ys: readonly number[], x: number): number {
  let low = 0;
  let high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? 0) <= x) low = middle;
    else high = middle;
  }
  const at = (values: readonly number[], index: number) => values[index] ?? 0;
  const slope = (at(ys, high) - at(ys, low)) / (at(xs, high) - at(xs, low));
  return at(ys, low) + (x - at(xs, low)) * slope;
}
