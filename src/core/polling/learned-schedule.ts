import { defaultSchedule, type PollingSchedule } from "./fixed-schedules.ts";

/**
 * Time at which a task completed, as far as polls can tell, in milliseconds from its acceptance: after the last poll that found
 * it running (`pendingMs`, null if none did), and not after the poll that found it completed (`seenMs`).
 */
export interface CompletionInterval {
  pendingMs: number | null;
  seenMs: number;
}

/** Ages between which the rate of polls is constant, in milliseconds: durations differ by factors, not by seconds. */
const EDGES = [0, ...Array.from({ length: 300 }, (_, index) => 250 * 1.03 ** index)];
/** A task that took longer counts as one of this age. */
const MAX_AGE_MS = 1_800_000;
/** The ledger counts whole milliseconds. */
const MIN_WIDTH_MS = 1;
/** A wider interval is informative only if its end is at most 1.5 × its start. */
const [WIDE_MS, MAX_WIDE_RATIO] = [15_000, 1.5];

/** Weight of each task relative to the one after it: after 14 tasks, half. */
const FADING = 0.95;
/** A task that its first poll found completed is assumed to have taken at least this part of that time. */
const FIRST_POLL_AT_LEAST = 1 / 3;
/** Standard deviation of the logarithms of durations, assumed before there is a history; soon outweighed by one. */
const DEFAULT_SPREAD = 0.3;
/** Share of tasks that take longer than any age; keeps the hazard finite. */
const NEVER = 0.05;
/** Least weight of the fallback, and the number of tasks with which it weighs half. */
const [MIN_FALLBACK, HALF_FALLBACK_SIZE] = [0.08, 1.5];
/** Of the fallback: completions before the usual duration, compared with those after it, and its mean duration. */
const [EARLY, SLOWER_BY] = [0.3, 1.3];

const [MIN_DELAY_MS, MAX_DELAY_MS] = [150, 15_000];
/** The reference client's interval (section 4.2), and how many polls a plan may have for one of its, and at least. */
const [REFERENCE_MS, PER_REFERENCE_POLL, MIN_POLLS] = [3_000, 1.45, 2.3];
/** At most 60 polls in any 180 s: one at once, one at the deadline, and one that the window's edge may add. */
const [WINDOW_MS, MAX_IN_WINDOW] = [180_000, 57];
const BISECTIONS = 14;

/**
 * Polls often at ages at which past tasks completed, and rarely at others. The default schedule if there is no history
 * or the task's age is not known.
 *
 * Polling at a rate r costs r polls per millisecond that a task runs, and sees a completion 1/(2r) late: the sum is least
 * if r goes with the square root of the hazard, the chance that a task which still runs completes now. Durations are
 * taken to be lognormal, with a fallback for a service that has become slower or faster.
 *
 * @param history past tasks of the same kind, oldest first; the last 50 are plenty
 */
export function learnedSchedule(history: readonly CompletionInterval[]): PollingSchedule {
  const tasks = history.filter(isInformative);
  if (tasks.length === 0) return defaultSchedule;
  const plan = planPolls(distribution(tasks));
  return {
    nextDelayMs: (elapsedMs) =>
      Number.isFinite(elapsedMs)
        ? Math.max(MIN_DELAY_MS, along(plan, EDGES, along(EDGES, plan, elapsedMs) + 1) - elapsedMs)
        : defaultSchedule.nextDelayMs(elapsedMs),
  };
}

/**
 * Whether an interval shows how long a task took. It does not if it is impossible, as after a clock was set back, or if
 * it is wide: then no process was waiting, and the task was polled much later.
 */
export function isInformative({ pendingMs, seenMs }: CompletionInterval): boolean {
  const afterMs = Math.max(0, pendingMs ?? 0);
  const width = Math.min(seenMs, MAX_AGE_MS) - afterMs;
  return width >= MIN_WIDTH_MS && (width <= WIDE_MS || seenMs <= MAX_WIDE_RATIO * afterMs);
}

interface Distribution {
  /** Mean duration. */
  meanMs: number;
  /** Share of tasks that are completed by each of EDGES. */
  completed: readonly number[];
  /** Weight of the fallback. */
  fallbackShare: number;
}

function distribution(tasks: readonly CompletionInterval[]): Distribution {
  const logs = tasks.map(likelyLog);
  const weights = logs.map((_, index) => FADING ** (logs.length - 1 - index));
  const weighted = (values: readonly number[]) =>
    values.reduce((sum, value, index) => sum + value * (weights[index] ?? 0), 0);
  const size = weighted(logs.map(() => 1));
  const mean = weighted(logs) / size;
  const squares = weighted(logs.map((log) => (log - mean) ** 2));
  const spread = Math.sqrt((squares + DEFAULT_SPREAD ** 2 / size) / (size + 1));
  return {
    meanMs: Math.exp(mean + spread ** 2 / 2),
    completed: EDGES.map((ageMs) => normal((Math.log(Math.max(1, ageMs)) - mean) / spread)),
    fallbackShare: Math.max(MIN_FALLBACK, HALF_FALLBACK_SIZE / (HALF_FALLBACK_SIZE + size)),
  };
}

/** The geometric middle of when a task may have completed, as a logarithm. */
function likelyLog({ pendingMs, seenMs }: CompletionInterval): number {
  const byMs = Math.min(seenMs, MAX_AGE_MS);
  return (Math.log(Math.max(pendingMs ?? 0, FIRST_POLL_AT_LEAST * byMs)) + Math.log(byMs)) / 2;
}

/** Number of polls, fractions included, that are due by each of EDGES: as many as are allowed. */
function planPolls(durations: Distribution): readonly number[] {
  const weights = rootHazards(durations);
  const planAt = (scale: number) => {
    let due = 0;
    return EDGES.map((ageMs, index) => {
      if (index === 0) return 0;
      const rate = Math.min(1 / MIN_DELAY_MS, Math.max(1 / MAX_DELAY_MS, scale * (weights[index - 1] ?? 0)));
      due += rate * (ageMs - (EDGES[index - 1] ?? 0));
      return due;
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

function rootHazards({ meanMs, completed, fallbackShare }: Distribution): number[] {
  let unusual = fallbackShare;
  return EDGES.slice(1).map((toMs, index) => {
    const [before, after] = [completed[index] ?? 1, completed[index + 1] ?? 1];
    const lengthMs = toMs - (EDGES[index] ?? 0);
    const running = (1 - fallbackShare) * (1 - (before + after) / 2) + unusual + NEVER;
    const fallback = (unusual * Math.max(after, EARLY)) / (SLOWER_BY * meanMs);
    unusual *= Math.exp((-lengthMs * Math.max(after, EARLY)) / (SLOWER_BY * meanMs));
    return Math.sqrt((((1 - fallbackShare) * (after - before)) / lengthMs + fallback) / running);
  });
}

/** Whether a plan has no more polls than allowed, both on average and in any window. */
function isAllowed(plan: readonly number[], { meanMs, completed }: Distribution): boolean {
  const dueIn = (index: number) => ((plan[index] ?? 0) + (plan[index - 1] ?? 0)) / 2;
  const shareIn = (index: number) => (completed[index] ?? 1) - (completed[index - 1] ?? 0);
  // On average, half a poll passes until a completion is seen.
  const polls = plan.reduce((sum, _, index) => sum + (index === 0 ? 0 : shareIn(index) * dueIn(index)), 0.5);
  if (polls > Math.max(MIN_POLLS, PER_REFERENCE_POLL * (meanMs / REFERENCE_MS + 0.5))) return false;
  return EDGES.every((ms, index) => along(EDGES, plan, ms + WINDOW_MS) - (plan[index] ?? 0) <= MAX_IN_WINDOW);
}

/** Share of a normal distribution below `z` standard deviations, to a thousandth. */
function normal(z: number): number {
  return 1 / (1 + Math.exp(-1.5976 * z - 0.070566 * z ** 3));
}

/**
 * The value at `x` of the line through the points (xs, ys), with its first and last slope beyond them. Exchange `xs` and
 * `ys` for the inverse of a rising function.
 */
function along(xs: readonly number[], ys: readonly number[], x: number): number {
  let [low, high] = [0, xs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? 0) <= x) low = middle;
    else high = middle;
  }
  const [x0 = 0, x1 = 1, y0 = 0, y1 = 1] = [xs[low], xs[high], ys[low], ys[high]];
  return y0 + ((x - x0) * (y1 - y0)) / (x1 - x0);
}
