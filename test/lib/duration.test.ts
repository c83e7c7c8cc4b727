import { describe, expect, it } from "vitest";
import { formatDuration, parseDuration } from "../../src/lib/duration.ts";
import { words } from "../support/words.ts";

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
    ...words("s NaN Infinity 1e9 -1 +1 0x10 1,5s .5s 5. 5M 5min 1h30m ٣ 168.001h 604800001ms"),
    "",
    " ",
    "5 m",
    "9".repeat(400),
  ])("%j is none", (text) => {
    expect(parseDuration(text)).toBeNull();
  });
});

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
])("a duration for people %d ms is %j", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
