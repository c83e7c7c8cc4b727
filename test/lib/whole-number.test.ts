import { describe, expect, it } from "vitest";
import { MAX_SEED } from "../../src/lib/exact-integer.ts";
import {
  describeRangeProblem,
  describeSeedProblem,
  findExceededLimit,
  parseWholeNumberOption,
} from "../../src/lib/whole-number.ts";

const RANGE = { min: 1, max: 15 };

describe("a number out of its limits", () => {
  it.each([
    [0, ": at least 1"],
    ["-3", ": at least 1"],
    [16, ": at most 15"],
    [1e300, ": at most 15"],
    ["99999999999999999999", ": at most 15"],
    [1.5, " is not a whole number (1 to 15)"],
    ["1.5", " is not a whole number (1 to 15)"],
    ["", " is not a whole number (1 to 15)"],
    [{}, " is not a whole number (1 to 15)"],
  ])("%j: the problem%s", (value, problem) => {
    expect(describeRangeProblem(value, RANGE)).toBe(problem);
  });

  it("is one to the last digit", () => {
    expect(findExceededLimit("18446744073709551615", { min: 0, max: MAX_SEED })).toBeNull();
    expect(findExceededLimit("18446744073709551616", { min: 0, max: MAX_SEED })).toBe(`at most ${MAX_SEED}`);
  });

  it("has no upper limit where there is none", () => {
    expect(findExceededLimit(1e300, { min: 0 })).toBeNull();
    expect(describeRangeProblem("x", { min: 0 })).toBe(" is not a whole number (0 or more)");
  });
});

it.each([
  [-1, ": at least 0"],
  ["18446744073709551616", ` is above ${MAX_SEED}, the largest seed of any generator`],
  [2 ** 53, " is too large for a JavaScript number: give its digits as a string"],
  ["x", ` is not a whole number (0 to ${MAX_SEED})`],
])("the seed %j: the problem%s", (value, problem) => {
  expect(describeSeedProblem(value)).toBe(problem);
});

it.each([
  ["-1", '-n "-1": at least 1.'],
  ["1e3", '-n "1e3" is not a whole number (1 to 15).'],
  ["99999999999999999999", '-n "99999999999999999999": at most 15.'],
])("a flag whose limits are checked later is refused in their words: %s", (text, message) => {
  expect(() => parseWholeNumberOption("-n", text, { min: 0, advised: RANGE })).toThrow(message);
  expect(parseWholeNumberOption("-n", "16", { min: 0, advised: RANGE })).toBe(16);
});
