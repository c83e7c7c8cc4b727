import { describe, expect, it } from "vitest";
import { automaticCadence } from "../../../src/core/polling/index.ts";
import { waitTimeoutMs } from "../../../src/core/polling/wait-settings.ts";

const request = (quality?: string) => ({
  prompt: "a fox",
  model: "gamma-image-2",
  ...(quality && { quality }),
});
const cadence = automaticCadence;

describe("how long a result is waited for", () => {
  it.each([
    [undefined, 180_000],
    ["2K", 180_000],
    ["4K", 600_000],
  ])("with quality %s, where nobody said, is %i ms, at a resume too", (quality, ms) => {
    expect(waitTimeoutMs({ timeoutMs: null, cadence }, request(quality))).toBe(ms);
  });

  it("is what the user said, and 180 s for a task of which nothing is known", () => {
    expect(waitTimeoutMs({ timeoutMs: 0, cadence }, request("4K"))).toBe(0);
    expect(waitTimeoutMs({ timeoutMs: null, cadence }, null)).toBe(180_000);
  });
});
