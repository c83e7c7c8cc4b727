import { defaultSchedule, type PollingSchedule } from "./fixed-schedules.ts";

/**
 * Interval in which a task completed, in milliseconds from its acceptance. `pendingMs`: last poll that found it running, or null.
 * `seenMs`: poll that found it completed.
 */
export interface CompletionInterval {
  pendingMs: number | null;
  seenMs: number;
}

/** Ages between which the rate of polls is constant, in milliseconds. */
const EDGES = [0, ...Array.from({ length: 300 }, (_, index) => 250 * 1.03 ** index)];
/** Longer tasks count as tasks of this age. */
const MAX_AGE_MS = 1_800_000;
const MIN_WIDTH_MS = 1;
/** An interval wider than 15 s is informative only if its end is at most 1.5 times its start. */
const [WIDE_MS, MAX_WIDE_RATIO] = [15_000, 1.5];

/** Weight of each task relative to the next one: half after 14 tasks. */
const WEIGHT_DECAY = 0.95;
/** Minimum duration of a task that the first poll found completed, as a share of its age at that poll. */
const MIN_FIRST_POLL_SHARE = 1 / 3;
/** Standard deviation of the logarithms of durations without a history. */
const DEFAULT_SPREAD = 0.3;
/** Share of tasks that never complete. Keeps the hazard finite. */
const ENDLESS_SHARE = 0.05;
/** Minimum weight of the fallback, and the number of tasks at which its weight is one half. */
const [MIN_FALLBACK, HALF_FALLBACK_SIZE] = [0.08, 1.5];
/** Fallback distribution: relative rate of early completions, and factor of the mean duration. */
const [EARLY_RATE, SLOWDOWN] = [0.3, 1.3];

const [MIN_DELAY_MS, MAX_DELAY_MS] = [150, 15_000];
/** Interval of the reference client (section 4.2), our maximum number of polls in this interval, and our minimum in all. */
const [REFERENCE_MS, PER_REFERENCE_POLL, MIN_POLLS] = [3_000, 1.45, 2.3];
/** The limit is 60 polls in any 180 s. Three are left for the first poll, the deadline and the edge of the window. */
const [WINDOW_MS, MAX_IN_WINDOW] = [180_000, 57];
const BISECTIONS = 14;

/**
 * Polls most often at ages at which past tasks completed. The default schedule applies without a history or a known age.
 *
 * Polling at a rate r costs r polls per millisecond, and finds a completion 1/(2r) late. The sum is least if r is proportional
 * to the square root of the hazard, the chance that a running task completes now. Durations are assumed to be lognormal, with
 * a fallback for a service that has become slower or faster.
 *
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

/**
 * Whether an interval shows the duration of a task. A clock that was set back makes it impossible, and a task that was polled
 * much later makes it too wide.
 */
export function isInformative({ pendingMs, seenMs }: CompletionInterval): boolean {
  const startMs = Math.max(0, pendingMs ?? 0);
  const widthMs = Math.min(seenMs, MAX_AGE_MS) - startMs;
  return widthMs >= MIN_WIDTH_MS && (widthMs <= WIDE_MS || seenMs <= MAX_WIDE_RATIO * startMs);
}

interface Distribution {
  meanMs: number;
  /** Share of tasks that are completed by each of EDGES. */
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

/** Maximum number of polls, as a fraction, until each time in EDGES. */
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

/** Whether a plan stays within the limits on average and in any window. */
function isAllowed(plan: readonly number[], { meanMs, completed }: Distribution): boolean {
  const getDuePolls = (index: number) => ((plan[index] ?? 0) + (plan[index - 1] ?? 0)) / 2;
  const getShare = (index: number) => (completed[index] ?? 1) - (completed[index - 1] ?? 0);
  // On average, half a poll passes until a completion is found.
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

/**
 * Linear interpolation at `x`, extended with the first and last slope. Swap `xs` and `ys` for the inverse of a rising function.
 */
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
