import { describe, expect, it } from "vitest";
import {
  defaultSchedule,
  expectedSchedule,
  fixedSchedule,
} from "../../../src/core/polling/fixed-schedules.ts";
import {
  draw,
  figuresOf,
  lognormal,
  memoryless,
  mostWithin,
  pollTimes,
} from "../../support/simulated-tasks.ts";

describe("the automatic schedule", () => {
  it.each([0, 1, 5000, 60_000, 89_999, 179_999, 600_000])(
    "never polls more than 58 times in any 180 s, from an age of %i ms on",
    (ageMs) => {
      const times = pollTimes(defaultSchedule, ageMs + 3_600_000, ageMs);
      expect(mostWithin(times, 180_000)).toBeLessThanOrEqual(58);
    },
  );

  it.each([
    ["8 s, give or take", lognormal(8000, 0.3)],
    ["20 s, give or take", lognormal(20_000, 0.3)],
    ["45 s, give or take", lognormal(45_000, 0.3)],
    ["8 s, without memory", memoryless(8000)],
    ["20 s, without memory", memoryless(20_000)],
    ["45 s, without memory", memoryless(45_000)],
  ])(
    "sees tasks of %s sooner than the reference client, and makes no more polls for it",
    (_what, durations) => {
      const { delay, polls } = figuresOf(defaultSchedule, draw(durations, 20_000, 1));
      expect(delay).toBeLessThan(1);
      expect(delay * polls).toBeLessThan(1.015);
    },
  );

  it("never pauses for more than 3.6 s, however old the task is", () => {
    expect([0, 1e5, 1e9, Number.POSITIVE_INFINITY].map((age) => defaultSchedule.nextDelayMs(age))).toEqual([
      2800, 3600, 3600, 3600,
    ]);
  });
});

describe("the schedule of a service that is known to take 600 ms", () => {
  it("polls then, whatever the task's age is by then", () => {
    expect([0, 1, 599].map((age) => expectedSchedule(600).nextDelayMs(age))).toEqual([600, 599, 1]);
  });

  it("polls soon where the wait begins only after that, as on a busy machine", () => {
    expect([600, 601, 1099].map((age) => expectedSchedule(600).nextDelayMs(age))).toEqual([250, 250, 250]);
  });

  it("is the automatic one for tasks that take half a second longer", () => {
    for (const age of [1100, 30_000, 100_000, Number.POSITIVE_INFINITY])
      expect(expectedSchedule(600).nextDelayMs(age)).toBe(defaultSchedule.nextDelayMs(age));
    expect(mostWithin(pollTimes(expectedSchedule(600), 600_000), 180_000)).toBeLessThanOrEqual(60);
  });
});

it("a uniform schedule polls at its interval, at any age", () => {
  expect([0, 1e3, 1e9].map((age) => fixedSchedule(250).nextDelayMs(age))).toEqual([250, 250, 250]);
});
