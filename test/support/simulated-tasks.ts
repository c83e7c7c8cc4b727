import { fixedSchedule, type PollingSchedule } from "../../src/core/polling/fixed-schedules.ts";
import type { CompletionInterval } from "../../src/core/polling/learned-schedule.ts";
import { learnedSchedule } from "../../src/core/polling/learned-schedule.ts";
import { randomFrom } from "./random.ts";

/** Draws a task's duration, milliseconds. */
export type Durations = (random: () => number) => number;

/** What the reference client does (section 4.2). */
const REFERENCE = fixedSchedule(3000);

/** Durations whose logarithms follow a bell curve. */
export function lognormal(medianMs: number, sigma: number): Durations {
  return (random) => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return medianMs * Math.exp(sigma * normal);
  };
}

/** Memoryless durations: how long a task has run says nothing about how much longer it takes. */
export function memoryless(meanMs: number): Durations {
  return (random) => -meanMs * Math.log(1 - random());
}

export function draw(durations: Durations, count: number, seed: number): number[] {
  const random = randomFrom(seed);
  return Array.from({ length: count }, () => durations(random));
}

/** When a task that runs until then is polled, milliseconds, if answers take no time. */
export function pollTimes(schedule: PollingSchedule, untilMs: number, fromMs = 0): number[] {
  const times: number[] = [];
  for (let at = fromMs; at < untilMs; ) {
    at += schedule.nextDelayMs(at);
    times.push(at);
  }
  return times;
}

/** The most polls in any window of this length, both ends included. */
export function mostWithin(times: readonly number[], windowMs: number): number {
  let first = 0;
  let most = 0;
  times.forEach((at, last) => {
    while (at - (times[first] ?? at) > windowMs) first += 1;
    most = Math.max(most, last - first + 1);
  });
  return most;
}

/** How these polls observe a task that takes this long. */
function observation(times: readonly number[], durationMs: number) {
  const index = times.findIndex((at) => at >= durationMs);
  const seenMs = times[index] ?? Number.NaN;
  const interval: CompletionInterval = { pendingMs: times[index - 1] ?? null, seenMs };
  return { delayMs: seenMs - durationMs, polls: index + 1, interval };
}

/** The mean delay from a completion to the poll that sees it, and the mean number of polls. */
export interface Figures {
  delay: number;
  polls: number;
}

/** A schedule's figures for tasks of these durations, each over the reference client's. */
export function figuresOf(schedule: PollingSchedule, durationsMs: readonly number[]): Figures {
  const [figures, reference] = [sums(schedule, durationsMs), sums(REFERENCE, durationsMs)];
  return { delay: figures.delay / reference.delay, polls: figures.polls / reference.polls };
}

function sums(schedule: PollingSchedule, durationsMs: readonly number[]): Figures {
  const times = pollTimes(schedule, Math.max(...durationsMs));
  const seen = durationsMs.map((durationMs) => observation(times, durationMs));
  return {
    delay: seen.reduce((sum, { delayMs }) => sum + delayMs, 0),
    polls: seen.reduce((sum, { polls }) => sum + polls, 0),
  };
}

/** The history after these tasks, one after the other, each polled by the schedule learned from those before it. */
export function watched(
  durationsMs: readonly number[],
  history: readonly CompletionInterval[] = [],
): CompletionInterval[] {
  const intervals = [...history];
  for (const durationMs of durationsMs) {
    const times = pollTimes(learnedSchedule(intervals.slice(-50)), durationMs);
    intervals.push(observation(times, durationMs).interval);
  }
  return intervals;
}

const learned = new Map<string, PollingSchedule[]>();

/** What is learned from such a history, several times over. To learn takes longest here, so it is done once. */
function schedulesAfter(history: Durations, count: number, histories: number): PollingSchedule[] {
  const drawn = Array.from({ length: histories }, (_, index) => draw(history, count, 100 + index));
  const name = JSON.stringify(drawn);
  const schedules = learned.get(name) ?? drawn.map((durationsMs) => learnedSchedule(watched(durationsMs)));
  learned.set(name, schedules);
  return schedules;
}

/** Figures for tasks of these durations after such a history, on the mean of several histories. */
export function figuresAfter(
  history: Durations,
  count: number,
  durations: Durations,
  histories = 10,
): Figures {
  const tasks = draw(durations, 2000, 1);
  const all = schedulesAfter(history, count, histories).map((schedule) => figuresOf(schedule, tasks));
  return { delay: mean(all.map(({ delay }) => delay)), polls: mean(all.map(({ polls }) => polls)) };
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
