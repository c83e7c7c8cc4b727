import { describe, expect, it } from "vitest";
import { automaticCadence, type Cadence, uniformCadence } from "../../src/core/cadence.ts";

/** When looks are taken, milliseconds from the acceptance, if answers take no time. */
function lookTimes(cadence: Cadence, untilMs: number, fromMs = 0): number[] {
  const times: number[] = [];
  for (let at = fromMs; at <= untilMs; ) {
    at += cadence.nextDelayMs(at);
    times.push(at);
  }
  return times;
}

/** The most looks in any window of this length. */
function mostWithin(times: number[], windowMs: number): number {
  return Math.max(...times.map((start) => times.filter((at) => at >= start && at < start + windowMs).length));
}

describe("the automatic cadence", () => {
  it.each([0, 1, 5000, 60_000, 179_999, 600_000])(
    "never looks more than 60 times in any 180 s, from an age of %i ms on",
    (ageMs) => {
      expect(mostWithin(lookTimes(automaticCadence, ageMs + 3_600_000, ageMs), 180_000)).toBeLessThanOrEqual(
        60,
      );
    },
  );

  it("looks early: a quick task is seen within a second of its end", () => {
    const times = lookTimes(automaticCadence, 8000);
    for (let end = 500; end <= 8000; end += 100) {
      const seen = times.find((at) => at >= end) ?? Number.NaN;
      expect(seen - end).toBeLessThanOrEqual(1000);
    }
  });

  it("never looks away for more than 5 s, however old the task is", () => {
    expect(automaticCadence.nextDelayMs(Number.POSITIVE_INFINITY)).toBe(5000);
    expect(automaticCadence.nextDelayMs(0)).toBe(500);
  });
});

it("a uniform cadence looks at its interval, at any age", () => {
  expect([0, 1e3, 1e9].map((age) => uniformCadence(250).nextDelayMs(age))).toEqual([250, 250, 250]);
});
