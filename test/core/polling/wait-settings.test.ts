import { describe, expect, it } from "vitest";
import { defaultSchedule } from "../../../src/core/polling/index.ts";
import { waitTimeoutMs } from "../../../src/core/polling/wait-settings.ts";

const request = (quality?: string) => ({
  prompt: "a fox",
  model: "gamma-image-2",
  ...(quality && { quality }),
});
const schedule = defaultSchedule;

describe("how long a result is waited for", () => {
  it.each([
    [undefined, 180_000],
    ["2K", 180_000],
    ["4K", 600_000],
  ])("with quality %s, by default, is %i ms, at a resume too", (quality, ms) => {
    expect(waitTimeoutMs({ timeoutMs: null, schedule }, request(quality))).toBe(ms);
  });

  it("is what the user said, and 180 s for a task of which nothing is known", () => {
    expect(waitTimeoutMs({ timeoutMs: 0, schedule }, request("4K"))).toBe(0);
    expect(waitTimeoutMs({ timeoutMs: null, schedule }, null)).toBe(180_000);
  });
});
