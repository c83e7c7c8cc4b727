import { describe, expect, it } from "vitest";
import {
  BIN_EDGES_MS,
  type CompletionInterval,
  estimate,
  type Shares,
  weigh,
} from "../../../src/core/polling/estimate.ts";
import { draw, lognormal, mean, watched } from "../../support/simulated-tasks.ts";

/** The age by which half of the tasks have completed. */
function medianMs(shares: Shares): number {
  let sum = 0;
  const index = shares.findIndex((share) => {
    sum += share;
    return sum >= 0.5;
  });
  return BIN_EDGES_MS[index] ?? Number.NaN;
}

const learn = (intervals: CompletionInterval[]) => estimate(weigh(intervals));

describe("the estimate of how long tasks take", () => {
  it("adds up to all tasks", () => {
    expect(learn([{ pendingMs: null, seenMs: 100 }]).reduce((sum, share) => sum + share)).toBeCloseTo(1, 9);
  });

  it("is not biased by being made of polls, not even of polls that followed earlier estimates", () => {
    const medians = [1, 2, 3, 4].map((seed) => {
      const known = watched(draw(lognormal(20_000, 0.25), 120, seed));
      return medianMs(learn(known.slice(-50)));
    });
    expect(mean(medians) / 20_000).toBeGreaterThan(0.95);
    expect(mean(medians) / 20_000).toBeLessThan(1.05);
  });

  it("is hardly moved by tasks that were polled too rarely to say anything", () => {
    const close = Array.from({ length: 10 }, () => ({ pendingMs: 9500, seenMs: 10_500 }));
    const rare = Array.from({ length: 10 }, () => ({ pendingMs: 2000, seenMs: 60_000 }));
    expect(medianMs(learn([...close, ...rare])) / 10_000).toBeCloseTo(1, 1);
  });

  it("assumes that tasks which their first poll found completed took somewhat more than half of that time", () => {
    const known = Array.from({ length: 20 }, () => ({ pendingMs: null, seenMs: 1000 }));
    expect(medianMs(learn(known))).toBeGreaterThan(500);
    expect(medianMs(learn(known))).toBeLessThan(600);
  });

  it("gives the latest tasks the most weight", () => {
    const early = Array.from({ length: 15 }, () => ({ pendingMs: 9000, seenMs: 10_000 }));
    const late = Array.from({ length: 15 }, () => ({ pendingMs: 29_000, seenMs: 30_000 }));
    expect(medianMs(learn([...early, ...late]))).toBeGreaterThan(20_000);
    expect(medianMs(learn([...late, ...early]))).toBeLessThan(15_000);
  });
});
