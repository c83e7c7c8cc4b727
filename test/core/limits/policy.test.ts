import { describe, expect, it } from "vitest";
import { TRANSFER_POLICY } from "../../../src/api/retry.ts";
import { POLICY } from "../../../src/core/limits/policy.ts";

describe("the retry policy", () => {
  it("submits what was not sent 4 times, after a 429 five times more, and what was lost at a free provider 3 times", () => {
    const { unsent, rateLimited, lost } = POLICY.submit;
    expect([unsent.attempts, rateLimited.attempts, lost.attempts]).toEqual([4, 1 + 5, 3]);
  });

  it("downloads a result up to 6 times, and a reference image 3 times", () => {
    expect([POLICY.download.attempts, POLICY.reference.attempts]).toEqual([6, 3]);
  });

  it("has no last attempt for a poll: the deadline ends it", () => {
    expect([POLICY.poll.failed.attempts, POLICY.poll.rateLimited.attempts]).toEqual([Infinity, Infinity]);
  });

  it("waits at first up to 0.5 s, after a 429 and a lost reply up to 1 s", () => {
    const { submit, poll, download, reference } = POLICY;
    for (const { baseMs } of [submit.unsent, poll.failed, download, reference]) expect(baseMs).toBe(500);
    for (const { baseMs } of [submit.rateLimited, submit.lost, poll.rateLimited]) expect(baseMs).toBe(1000);
  });

  it("has long limits for a submit, because a short one turns slow answers into unknown outcomes", () => {
    expect([POLICY.submit.timeoutMs, POLICY.poll.timeoutMs]).toEqual([120_000, 15_000]);
    expect([POLICY.download.idleMs, POLICY.download.timeoutMs]).toEqual([30_000, 900_000]);
  });

  it("is that of the lower layers too", () => {
    for (const name of ["download", "reference", "upload"] as const)
      expect(POLICY[name]).toBe(TRANSFER_POLICY[name]);
  });
});
