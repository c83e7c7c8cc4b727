import { describe, expect, it } from "vitest";
import { TRANSFER_POLICY } from "../../../src/api/retry.ts";
import { POLICY } from "../../../src/core/limits/policy.ts";

describe("the retry policy", () => {
  it("has long limits for a submit, because a short one turns slow answers into unknown outcomes", () => {
    expect([POLICY.submit.timeoutMs, POLICY.poll.timeoutMs]).toEqual([120_000, 15_000]);
    expect([POLICY.download.idleMs, POLICY.download.timeoutMs]).toEqual([30_000, 900_000]);
  });

  it("is that of the lower layers too", () => {
    for (const name of ["download", "reference", "upload"] as const)
      expect(POLICY[name]).toBe(TRANSFER_POLICY[name]);
  });
});
