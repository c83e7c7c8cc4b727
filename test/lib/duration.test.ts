import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, parseDuration } from "../../src/lib/duration.ts";

const WEEK_MS = 7 * 24 * 3_600_000;

describe("a duration", () => {
  it.each([
    ["90", 90_000],
    ["90s", 90_000],
    ["1500ms", 1500],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["1.5s", 1500],
    ["0.25m", 15_000],
    ["0", 0],
    [" 3s\t", 3000],
    ["007", 7000],
    ["1.4ms", 1],
    ["168h", WEEK_MS],
  ])("%j is %i ms", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    "",
    " ",
    "s",
    "NaN",
    "Infinity",
    "1e9",
    "-1",
    "+1",
    "0x10",
    "1,5s",
    ".5s",
    "5.",
    "5 m",
    "5M",
    "5min",
    "1h30m",
    "٣",
    "168.001h",
    "604800001ms",
    "9".repeat(400),
  ])("%j is none", (text) => {
    expect(parseDuration(text)).toBeNull();
  });

  it("is null or whole milliseconds within a week, whatever the text", () => {
    const near = fc.stringMatching(/^ ?-?[0-9]{0,12}\.?[0-9]{0,4}e?(ms|s|m|h)? ?$/);
    fc.assert(
      fc.property(fc.oneof(near, fc.string(), fc.double().map(String)), (text) => {
        const ms = parseDuration(text);
        expect(ms === null || (Number.isInteger(ms) && ms >= 0 && ms <= WEEK_MS)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it("in milliseconds is taken as it is", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: WEEK_MS }), (ms) => {
        expect(parseDuration(`${ms}ms`)).toBe(ms);
      }),
    );
  });
});

describe("a duration for people", () => {
  it.each([
    [0, "0 ms"],
    [-5, "0 ms"],
    [850.4, "850 ms"],
    [999.6, "1 s"],
    [8123, "8.1 s"],
    [59_940, "59.9 s"],
    [59_960, "1 min"],
    [125_000, "2 min 5 s"],
    [3_599_700, "1 h"],
    [3_780_000, "1 h 3 min"],
    [WEEK_MS, "168 h"],
  ])("%d ms is %j", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it("never shows sixty of a unit", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: WEEK_MS, noNaN: true }), (ms) => {
        expect(formatDuration(ms)).toMatch(
          /^(\d{1,3} ms|[1-5]?\d(\.\d)? s|\d+ (min|h)( [1-5]?\d (s|min))?)$/,
        );
      }),
    );
  });
});
