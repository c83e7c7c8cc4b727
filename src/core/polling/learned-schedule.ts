import { defaultSchedule, type PollingSchedule } from "./fixed-schedules.ts";

/**
 * Interval in which a task completed, in milliseconds since its acceptance. `pendingMs`: time of the last poll that
 * found the task running, or null. `seenMs`: time of the poll that found the task completed.
 */
export interface CompletionInterval {
  pendingMs: number | null;
  seenMs: number;
}

/** Ages between which the rate of polls is constant, in milliseconds. */
const EDGES = [0, ...Array.from({ length: 300 }, (_, index) => 250 * 1.03 ** index)];
/** Maximum duration of a task in the calculation. Longer tasks count as tasks of this duration. */
const MAX_AGE_MS = 1_800_000;
const MIN_WIDTH_MS = 1;
/** An interval wider than 15 s is informative only if its end is at most 1.5 times its start. */
const [WIDE_MS, MAX_WIDE_RATIO] = [15_000, 1.5];

/** Weight of each task relative to the next, newer task. The weight is halved after about 14 tasks. */
const WEIGHT_DECAY = 0.95;
/** Assumed minimum duration of a task that its first poll found completed, as a share of its age at that poll. */
const MIN_FIRST_POLL_SHARE = 1 / 3;
/** Assumed standard deviation of the logarithms of durations if there is little history. */
const DEFAULT_SPREAD = 0.3;
/** Assumed share of tasks that never complete, which keeps the hazard finite. */
const ENDLESS_SHARE = 0.05;
/** Minimum weight of the fallback, and the number of tasks at which its weight is one half. */
const [MIN_FALLBACK, HALF_FALLBACK_SIZE] = [0.08, 1.5];
/** Fallback distribution: relative rate of early completions, and factor of the mean duration. */
const [EARLY_RATE, SLOWDOWN] = [0.3, 1.3];

const [MIN_DELAY_MS, MAX_DELAY_MS] = [150, 15_000];
/**
 * Interval of the reference client's polls (section 4.2), maximum average number of imggen's polls in this interval,
 * and average number of polls per task that is always allowed.
 */
const [REFERENCE_MS, PER_REFERENCE_POLL, MIN_POLLS] = [3_000, 1.45, 2.3];
/** Of 60 polls that are allowed in 180 s, 3 are reserved: for the first poll, the deadline and the window's edge. */
const [WINDOW_MS, MAX_IN_WINDOW] = [180_000, 57];
const BISECTIONS = 14;

/**
 * Returns a schedule that polls most often at ages at which past tasks completed. Without a history or a known age, the
 * default schedule applies.
 *
 * Polling at a rate r costs r polls per millisecond, and finds a completion with a mean delay of 1/(2r). The sum of
 * cost and delay is least if r is proportional to the square root of the hazard, the rate at which running tasks
 * complete. Durations are assumed to be lognormal, with a fallback if the service has become slower or faster.
 * @param history past tasks of the same model and quality, oldest first; 50 are enough
 */
export function learnedSchedule(history: readonly CompletionInterval[]): PollingSchedule {
  const tasks = history.filter(isInformative);
  if (tasks.length === 0) return defaultSchedule;
  const plan = planPolls(fitDistribution(tasks));
  return {
    nextDelayMs: (elapsedMs) =>
      Number.isFinite(elapsedMs)
        ? Math.max(
            MIN_DELAY_MS,
            interpolate(plan, EDGES, interpolate(EDGES, plan, elapsedMs) + 1) - elapsedMs,
          )
        : defaultSchedule.nextDelayMs(elapsedMs),
  };
}

/** False if the clock was set back, or the task was polled long after its completion. */
export function isInformative({ pendingMs, seenMs }: CompletionInterval): boolean {
  const startMs = Math.max(0, pendingMs ?? 0);
  const widthMs = Math.min(seenMs, MAX_AGE_MS) - startMs;
  return widthMs >= MIN_WIDTH_MS && (widthMs <= WIDE_MS || seenMs <= MAX_WIDE_RATIO * startMs);
}

interface Distribution {
  meanMs: number;
  /** Share of tasks that are completed at each age in EDGES. */
  completed: readonly number[];
  fallbackShare: number;
}

function fitDistribution(tasks: readonly CompletionInterval[]): Distribution {
  const logs = tasks.map(middleLog);
  const weights = logs.map((_, index) => WEIGHT_DECAY ** (logs.length - 1 - index));
  const weightedSum = (values: readonly number[]) =>
    values.reduce((sum, value, index) => sum + value * (weights[index] ?? 0), 0);
  const size = weightedSum(logs.map(() => 1));
  const mean = weightedSum(logs) / size;
  const squares = weightedSum(logs.map((log) => (log - mean) ** 2));
  const spread = Math.sqrt((squares + DEFAULT_SPREAD ** 2 / size) / (size + 1));
  return {
    meanMs: Math.exp(mean + spread ** 2 / 2),
    completed: EDGES.map((ageMs) => normalShare((Math.log(Math.max(1, ageMs)) - mean) / spread)),
    fallbackShare: Math.max(MIN_FALLBACK, HALF_FALLBACK_SIZE / (HALF_FALLBACK_SIZE + size)),
  };
}

/** Logarithm of the geometric middle of the interval in which a task completed. */
function middleLog({ pendingMs, seenMs }: CompletionInterval): number {
  const endMs = Math.min(seenMs, MAX_AGE_MS);
  return (Math.log(Math.max(pendingMs ?? 0, MIN_FIRST_POLL_SHARE * endMs)) + Math.log(endMs)) / 2;
}

/** Returns the allowed plan with the most polls: the number of polls, as a fraction, until each age in EDGES. */
function planPolls(durations: Distribution): readonly number[] {
  const weights = hazardRoots(durations);
  const planAt = (scale: number) => {
    let duePolls = 0;
    return EDGES.map((ageMs, index) => {
      if (index === 0) return 0;
      const rate = Math.min(1 / MIN_DELAY_MS, Math.max(1 / MAX_DELAY_MS, scale * (weights[index - 1] ?? 0)));
      duePolls += rate * (ageMs - (EDGES[index - 1] ?? 0));
      return duePolls;
    });
  };
  let [low, high] = [1e-3, 10];
  for (let round = 0; round < BISECTIONS; round++) {
    const scale = Math.sqrt(low * high);
    if (isAllowed(planAt(scale), durations)) low = scale;
    else high = scale;
  }
  return planAt(low);
}

function hazardRoots({ meanMs, completed, fallbackShare }: Distribution): number[] {
  let fallbackWeight = fallbackShare;
  return EDGES.slice(1).map((toMs, index) => {
    const [before, after] = [completed[index] ?? 1, completed[index + 1] ?? 1];
    const lengthMs = toMs - (EDGES[index] ?? 0);
    const running = (1 - fallbackShare) * (1 - (before + after) / 2) + fallbackWeight + ENDLESS_SHARE;
    const fallback = (fallbackWeight * Math.max(after, EARLY_RATE)) / (SLOWDOWN * meanMs);
    fallbackWeight *= Math.exp((-lengthMs * Math.max(after, EARLY_RATE)) / (SLOWDOWN * meanMs));
    return Math.sqrt((((1 - fallbackShare) * (after - before)) / lengthMs + fallback) / running);
  });
}

/** Whether a plan stays within the limits for the average number of polls and for the polls in any window. */
function isAllowed(plan: readonly number[], { meanMs, completed }: Distribution): boolean {
  const getDuePolls = (index: number) => ((plan[index] ?? 0) + (plan[index - 1] ?? 0)) / 2;
  const getShare = (index: number) => (completed[index] ?? 1) - (completed[index - 1] ?? 0);
  // The sum begins at 0.5, because a completion is found half a poll later on average.
  const polls = plan.reduce(
    (sum, _, index) => sum + (index === 0 ? 0 : getShare(index) * getDuePolls(index)),
    0.5,
  );
  if (polls > Math.max(MIN_POLLS, PER_REFERENCE_POLL * (meanMs / REFERENCE_MS + 0.5))) return false;
  return EDGES.every(
    (ms, index) => interpolate(EDGES, plan, ms + WINDOW_MS) - (plan[index] ?? 0) <= MAX_IN_WINDOW,
  );
}

/** Share of a normal distribution below `z` standard deviations, to a thousandth. */
function normalShare(z: number): number {
  return 1 / (1 + Math.exp(-1.5976 * z - 0.070566 * z ** 3));
}

/** Interpolates linearly at `x`. Beyond the ends, the first and last slopes continue. */
function interpolate(xs: readonly number[], ys: readonly number[], x: number): number {
  let [low, high] = [0, xs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? 0) <= x) low = middle;
    else high = middle;
  }
  const [x0 = 0, x1 = 1, y0 = 0, y1 = 1] = [xs[low], xs[high], ys[low], ys[high]];
  return y0 + ((x - x0) * (y1 - y0)) / (x1 - x0);
}
