/**
 * When a task completed, as far as polls can tell, in milliseconds from its acceptance: after the last poll that found
 * it running (`pendingMs`, null if none did), and not after the poll that found it completed (`seenMs`).
 */
export interface CompletionInterval {
  pendingMs: number | null;
  seenMs: number;
}

/** A past task, ready for the estimate. */
interface PastTask {
  afterMs: number;
  byMs: number;
  /** How much it counts. All tasks together count 1. */
  weight: number;
}

interface History {
  tasks: PastTask[];
  /** How many tasks of equal weight would say as much. */
  size: number;
}

/** Where the estimate ends: a task that took longer counts as one of this age. */
const OLDEST_MS = 1_800_000;
/** The ledger counts whole milliseconds. */
const NARROWEST_MS = 1;
/** A wider interval is informative only if its end is at most 1.5 × its start. */
const WIDE_MS = 15_000;
const WIDE_RATIO = 1.5;
/** How much less each task counts than the one after it: after 14 tasks, half. */
const FADING = 0.95;

/**
 * Whether an interval says how long a task took. It does not if it is impossible, as after a clock was set back, or if
 * it is wide: then no process was waiting, and the task was polled much later.
 */
export function isInformative({ pendingMs, seenMs }: CompletionInterval): boolean {
  const afterMs = Math.max(0, pendingMs ?? 0);
  const width = Math.min(seenMs, OLDEST_MS) - afterMs;
  return width >= NARROWEST_MS && (width <= WIDE_MS || seenMs <= WIDE_RATIO * afterMs);
}

/** The informative ones of past tasks, oldest first, with weights. */
export function weigh(intervals: readonly CompletionInterval[]): History {
  const tasks = intervals.filter(isInformative).map(({ pendingMs, seenMs }) => ({
    afterMs: Math.max(0, pendingMs ?? 0),
    byMs: Math.min(seenMs, OLDEST_MS),
  }));
  const weights = tasks.map((_, index) => FADING ** (tasks.length - 1 - index));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const squares = weights.reduce((total, weight) => total + weight ** 2, 0);
  return {
    tasks: tasks.map((task, index) => ({ ...task, weight: (weights[index] ?? 0) / sum })),
    size: tasks.length === 0 ? 0 : sum ** 2 / squares,
  };
}

/** A part of a task's life, milliseconds from its acceptance. */
export interface Bin {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The logarithm of the factor by which each bin is longer than the one before it. */
const LOG_STEP = 0.03;
const YOUNGEST_MS = 250;
const COUNT = Math.ceil(Math.log(OLDEST_MS / YOUNGEST_MS) / LOG_STEP);

/**
 * The ages between bins. Each bin is 3 % longer than the one before it, because durations differ by factors, not by
 * seconds. The first bin begins at the acceptance.
 */
export const BIN_EDGES_MS: readonly number[] = Array.from({ length: COUNT + 1 }, (_, index) =>
  index === 0 ? 0 : YOUNGEST_MS * Math.exp(index * LOG_STEP),
);

export const BINS: readonly Bin[] = BIN_EDGES_MS.slice(1).map((toMs, index) => ({
  fromMs: BIN_EDGES_MS[index] ?? 0,
  toMs,
}));

export function lengthMs({ fromMs, toMs }: Bin): number {
  return toMs - fromMs;
}

export function middleMs({ fromMs, toMs }: Bin): number {
  return (fromMs + toMs) / 2;
}

/** The share of all tasks that complete in each of BINS. Together 1. */
export type Shares = readonly number[];

/** The spread of durations (standard deviation of their logarithm) that is assumed before there is a history … */
const USUAL_SPREAD = 0.3;
/** … and how many tasks that assumption weighs as much as. */
const USUAL_SIZE = 1;
/**
 * A task that its first poll found completed may have taken any time up to that poll. It is assumed to have taken at
 * least this part of it: less, and the schedule polls too early; more, and it never learns that tasks are quicker.
 */
const FIRST_POLL_AT_LEAST = 1 / 3;
/** The usual rule for the width of a kernel is 1.06; narrower, because durations may have two peaks. */
const KERNEL_WIDTH = 0.8;
const SMALLEST_WIDTH = 0.02;

const LOG_AGES = BINS.map((bin) => Math.log(middleMs(bin)));
/** No bin would be near enough to count a task below the first bin's middle. */
const LEAST_LOG = Math.min(...LOG_AGES);

/**
 * How long tasks take, by a history of at least one: a kernel density estimate of the logarithm of their durations.
 * Each task adds a bell curve around its likely duration. The fewer tasks there are and the more they differ, the
 * wider the curves.
 */
export function estimate({ tasks, size }: History): Shares {
  const points = tasks.map((task) => ({ log: likelyLog(task), weight: task.weight }));
  const mean = sum(points.map(({ log, weight }) => weight * log));
  const variance = sum(points.map(({ log, weight }) => weight * (log - mean) ** 2));
  const assumed = (size * variance + USUAL_SIZE * USUAL_SPREAD ** 2) / (size + USUAL_SIZE);
  const width = Math.max(SMALLEST_WIDTH, KERNEL_WIDTH * Math.sqrt(assumed) * size ** -0.2);
  const heights = LOG_AGES.map((age) =>
    sum(points.map(({ log, weight }) => weight * Math.exp(-(((age - log) / width) ** 2) / 2))),
  );
  const whole = sum(heights);
  return heights.map((height) => height / whole);
}

/** The geometric middle of when a task may have completed, as a logarithm. */
function likelyLog({ afterMs, byMs }: PastTask): number {
  const log = (Math.log(Math.max(afterMs, FIRST_POLL_AT_LEAST * byMs)) + Math.log(byMs)) / 2;
  return Math.max(LEAST_LOG, log);
}

/** The least weight of the fallback, however long the history. */
const LEAST_WEIGHT = 0.08;
/** The fallback and the estimate weigh the same with a history of this many tasks. */
const HALF_WEIGHT_SIZE = 1.2;
/** How likely the fallback takes a completion to be before the estimate expects any, compared with one after it. */
const EARLY = 0.2;
/** The mean duration in the fallback, as a factor of the estimate's. */
const SLOWER_BY = 1.5;

/**
 * Mixes the estimate with a fallback, for a service that has become slower or faster than its history. The fallback
 * assumes that tasks complete at a constant rate once the estimate expects them, and at a fifth of it before.
 */
export function withFallback(estimated: Shares, historySize: number): Shares {
  const weight = Math.max(LEAST_WEIGHT, HALF_WEIGHT_SIZE / (HALF_WEIGHT_SIZE + historySize));
  const meanMs = sum(BINS.map((bin, index) => middleMs(bin) * (estimated[index] ?? 0)));
  let expected = 0;
  const heights = BINS.map((bin, index) => {
    expected += estimated[index] ?? 0;
    return Math.max(expected, EARLY) * Math.exp(-middleMs(bin) / (SLOWER_BY * meanMs)) * lengthMs(bin);
  });
  const whole = sum(heights);
  return heights.map((height, index) => weight * (height / whole) + (1 - weight) * (estimated[index] ?? 0));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
