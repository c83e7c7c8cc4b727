import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import { type CompletionInterval, learnedSchedule } from "../../../src/core/polling/learned-schedule.ts";
import { holds } from "../../support/holds.ts";
import {
  type Durations,
  draw,
  figuresAfter,
  figuresOf,
  lognormal,
  mean,
  memoryless,
  mostWithin,
  pollTimes,
  watched,
} from "../../support/simulated-tasks.ts";

const either =
  (one: Durations, other: Durations): Durations =>
  (random) =>
    random() < 0.5 ? one(random) : other(random);

describe("the learned schedule, after 20 tasks", () => {
  it.each([
    [8, 0.25],
    [8, 0.3],
    [20, 0.25],
    [20, 0.3],
  ])("of %i s (σ %f) sees a completion in two fifths of the reference client's delay", (seconds, sigma) => {
    const durations = lognormal(seconds * 1000, sigma);
    const { delay, polls } = figuresAfter(durations, 20, durations);
    expect(delay).toBeLessThanOrEqual(0.4);
    expect(polls).toBeLessThanOrEqual(1.5);
    expect(delay * polls).toBeLessThanOrEqual(0.55);
  });

  // A task of 45 s may take 100 s: 58 polls in 180 s leave no room to be quicker and to go on.
  it.each([0.25, 0.3])("of 45 s (σ %f) sees it in seven tenths of that delay, with fewer polls", (sigma) => {
    const durations = lognormal(45_000, sigma);
    const { delay, polls } = figuresAfter(durations, 20, durations);
    expect(delay).toBeLessThanOrEqual(0.7);
    expect(polls).toBeLessThanOrEqual(0.95);
  });

  it.each<[string, Durations, number]>([
    ["of two kinds, 8 s and 40 s", either(lognormal(8000, 0.25), lognormal(40_000, 0.25)), 0.95],
    ["of two kinds, 10 s and 25 s", either(lognormal(10_000, 0.2), lognormal(25_000, 0.2)), 0.8],
    ["spread wide", lognormal(20_000, 0.6), 0.9],
    ["without memory, where nothing can be learned", memoryless(20_000), 1.1],
  ])("%s makes fewer polls for its delay than the reference client", (_what, durations, most) => {
    const { delay, polls } = figuresAfter(durations, 20, durations);
    expect(delay).toBeLessThan(0.78);
    expect(delay * polls).toBeLessThan(most);
  });

  it.each([
    [8, 2, 1],
    [8, 3, 1.15],
    [20, 2, 1],
    [20, 3, 1.15],
    [45, 2, 1.2],
    [45, 3, 2],
  ])("of %i s is little worse off where the service becomes %i times slower", (seconds, factor, most) => {
    const durations = lognormal(seconds * 1000, 0.25);
    const slower = lognormal(factor * seconds * 1000, 0.25);
    expect(figuresAfter(durations, 20, slower).delay).toBeLessThan(most);
  });

  it.each([8, 20, 45])(
    "of %i s is 5 s late on the mean, at most, where it becomes 2 or 3 times quicker",
    (seconds) => {
      const durations = lognormal(seconds * 1000, 0.25);
      for (const factor of [2, 3]) {
        const quicker = lognormal((seconds * 1000) / factor, 0.25);
        expect(figuresAfter(durations, 20, quicker).delay * 1500).toBeLessThan(5500);
      }
    },
  );
});

describe("the learned schedule, in the long run", () => {
  it("is stable: tasks polled by it teach it what the first ones did", () => {
    const durations = lognormal(20_000, 0.25);
    const known = watched(draw(durations, 200, 7));
    const delayAfter = (count: number) => {
      const schedule = learnedSchedule(known.slice(count - 50, count));
      return figuresOf(schedule, draw(durations, 2000, 1)).delay;
    };
    const [early, late] = [
      mean([50, 60, 70, 80].map(delayAfter)),
      mean([170, 180, 190, 200].map(delayAfter)),
    ];
    expect(late).toBeLessThan(0.4);
    expect(late / early).toBeLessThan(1.1);
  });

  it("finds the moment of tasks that hardly differ, though most are completed before they are polled", () => {
    const figures = [1, 2].flatMap((seed) => {
      const durationsMs = draw(lognormal(10_000, 0.02), 120, seed);
      const known = watched(durationsMs);
      return durationsMs.slice(60).map((durationMs, index) => {
        const times = pollTimes(learnedSchedule(known.slice(index + 10, index + 60)), durationMs);
        return { polls: times.length, delayMs: (times.at(-1) ?? 0) - durationMs };
      });
    });
    expect(mean(figures.map(({ polls }) => polls))).toBeLessThan(5.56);
    expect(mean(figures.map(({ delayMs }) => delayMs))).toBeLessThan(100);
  });

  it.each([0.5, 2, 3])("has adapted 20 tasks after durations changed by a factor of %f", (factor) => {
    const before = watched(draw(lognormal(15_000, 0.25), 50, 3));
    const changed = lognormal(factor * 15_000, 0.25);
    const known = watched(draw(changed, 20, 4), before);
    const { delay, polls } = figuresOf(learnedSchedule(known.slice(-50)), draw(changed, 2000, 1));
    expect(delay).toBeLessThan(0.75);
    expect(delay * polls).toBeLessThan(0.9);
  });
});

describe("the learned schedule, of a mixed history,", () => {
  const seen = (count: number, pendingMs: number | null, seenMs: number) =>
    Array.from({ length: count }, () => ({ pendingMs, seenMs }));
  /** The age with the shortest delay: the usual duration. */
  const usualMs = (history: CompletionInterval[]) => {
    const { nextDelayMs } = learnedSchedule(history);
    const ages = Array.from({ length: 600 }, (_, index) => index * 100);
    return ages.reduce((best, ageMs) => (nextDelayMs(ageMs) < nextDelayMs(best) ? ageMs : best));
  };

  it("is hardly moved by tasks that were polled too rarely to show their duration", () => {
    const close = seen(10, 9500, 10_500);
    expect(usualMs([...close, ...seen(10, 2000, 60_000)])).toBe(usualMs(close));
  });

  it("gives the latest tasks the most weight", () => {
    const [early, late] = [seen(15, 9000, 10_000), seen(15, 29_000, 30_000)];
    expect(usualMs([...early, ...late])).toBeGreaterThan(1.2 * usualMs([...late, ...early]));
  });

  it("polls sooner than it found tasks that were always completed at their first poll", () => {
    const first = learnedSchedule(seen(20, null, 1000)).nextDelayMs(0);
    expect(first).toBeGreaterThan(300);
    expect(first).toBeLessThan(700);
  });
});

describe("whatever the history, the learned schedule", () => {
  const age = fc.oneof(fc.integer({ min: 0, max: 3_600_000 }), fc.integer({ min: 0, max: 60_000 }));
  const interval = fc.record({ pendingMs: fc.option(age), seenMs: age });
  const histories = fc.array(interval, { maxLength: 60 });

  it("polls no more than 58 times in any 180 s, from any age on, and never stops", () => {
    holds(
      fc.property(histories, age, (history, ageMs) => {
        const times = pollTimes(learnedSchedule(history), ageMs + 900_000, ageMs);
        expect(mostWithin(times, 180_000)).toBeLessThanOrEqual(58);
      }),
      500,
    );
  });

  it("never polls at once, and never pauses for more than 15 s", () => {
    holds(
      fc.property(histories, fc.oneof(fc.constant(0), age), (history, ageMs) => {
        const times = pollTimes(learnedSchedule(history), ageMs + 900_000, ageMs);
        for (const [i, at] of times.entries()) {
          // Sums of ages round.
          expect(at - (times[i - 1] ?? ageMs)).toBeGreaterThan(149.999);
          expect(at - (times[i - 1] ?? ageMs)).toBeLessThan(15_001);
        }
      }),
      500,
    );
  });

  it("polls a task as the automatic one does: one of unknown age", () => {
    holds(
      fc.property(histories, (history) => {
        const delayMs = learnedSchedule(history).nextDelayMs(Number.POSITIVE_INFINITY);
        expect(delayMs).toBe(defaultSchedule.nextDelayMs(Number.POSITIVE_INFINITY));
      }),
      500,
    );
  });
});

it("a history of durations that cannot be teaches nothing", () => {
  const history = [
    { pendingMs: 9000, seenMs: 8000 },
    { pendingMs: 8000, seenMs: 8000 },
    { pendingMs: 7999.9999, seenMs: 8000 },
    { pendingMs: null, seenMs: 0 },
    { pendingMs: null, seenMs: -5 },
    { pendingMs: null, seenMs: Number.NaN },
  ];
  expect(learnedSchedule(history).nextDelayMs).toBe(defaultSchedule.nextDelayMs);
  expect(learnedSchedule([]).nextDelayMs).toBe(defaultSchedule.nextDelayMs);
});

it("tasks that were not waited for say nothing of how long they took", () => {
  const late = [
    { pendingMs: null, seenMs: 86_400_000 },
    { pendingMs: null, seenMs: 15_001 },
    { pendingMs: 4000, seenMs: 60_000 },
    { pendingMs: 40_000, seenMs: 60_001 },
  ];
  expect(learnedSchedule(late).nextDelayMs).toBe(defaultSchedule.nextDelayMs);
  // Polls that are far apart still show that tasks take long.
  expect(learnedSchedule([{ pendingMs: 60_000, seenMs: 90_000 }]).nextDelayMs).not.toBe(
    defaultSchedule.nextDelayMs,
  );
});
