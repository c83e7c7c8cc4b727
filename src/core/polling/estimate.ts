import { BINS, middleMs } from "./bins.ts";
import type { History, PastTask } from "./history.ts";

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
/** Below the first bin's middle no bin would be near enough to count a task. */
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

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
