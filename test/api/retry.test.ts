import { describe, expect, it } from "vitest";
import {
  backoffMs,
  DOWNLOAD,
  POLL,
  POLL_RATE_LIMITED,
  parseRetryAfter,
  SUBMIT_NOT_SENT,
  SUBMIT_RATE_LIMITED,
} from "../../src/api/retry.ts";

const NOW = Date.UTC(2026, 0, 31, 12, 0, 0);

describe("how often an operation is tried", () => {
  it("is what its rule says: a request that never left 4 times, 429 five times more, a download 6 times", () => {
    expect(SUBMIT_NOT_SENT.attempts).toBe(4);
    expect(SUBMIT_RATE_LIMITED.attempts).toBe(1 + 5);
    expect(DOWNLOAD.attempts).toBe(6);
  });

  it("has no end for a poll: the deadline is its end", () => {
    expect([POLL.attempts, POLL_RATE_LIMITED.attempts]).toEqual([Infinity, Infinity]);
  });
});

describe("the wait after a failure", () => {
  it.each([
    [SUBMIT_NOT_SENT, [500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]],
    [POLL, [500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]],
    [DOWNLOAD, [500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]],
    [SUBMIT_RATE_LIMITED, [1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]],
    [POLL_RATE_LIMITED, [1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]],
  ])("of %j doubles up to 20 s at the most", (rule, ceilings) => {
    const longest = ceilings.map((_, at) => backoffMs(rule, at + 1, null, () => 1));
    expect(longest).toEqual(ceilings);
  });

  it("is never shorter than the service asked for, and longer where chance says so", () => {
    expect(backoffMs(POLL, 1, 3000, () => 1)).toBe(3000);
    expect(backoffMs(POLL, 1, 45_000, () => 0)).toBe(45_000);
    expect(backoffMs(POLL, 5, 3000, () => 1)).toBe(8000);
  });
});

describe("Retry-After", () => {
  it.each([
    ["0", 0],
    ["1", 1000],
    ["120", 120_000],
    ["0.25", 250],
    ["1.5", 1500],
    [" 7 ", 7000],
    ["Sat, 31 Jan 2026 12:00:30 GMT", 30_000],
    ["Saturday, 31-Jan-26 12:00:30 GMT", 30_000],
    ["Sat Jan 31 12:00:30 2026 GMT", 30_000],
  ])("%j asks for %i ms", (header, ms) => {
    expect(parseRetryAfter(header, NOW)).toBe(ms);
  });

  it.each([
    undefined,
    "",
    " ",
    "-1",
    "-0.5",
    "+1",
    "1e3",
    "0x10",
    "NaN",
    "Infinity",
    "1,5",
    "1 2",
    "soon",
    "Mon, nonsense",
    "2026-01-31T12:00:30Z",
    "Sat, 31 Jan 2026 11:59:59 GMT",
    "9".repeat(400),
  ])("%j is ignored", (header) => {
    expect(parseRetryAfter(header, NOW)).toBeNull();
  });

  it("counts once where it came twice", () => {
    expect(parseRetryAfter(["2", "5"], NOW)).toBe(2000);
    expect(parseRetryAfter([], NOW)).toBeNull();
  });
});
