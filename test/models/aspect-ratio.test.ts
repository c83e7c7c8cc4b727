import { describe, expect, it } from "vitest";
import { intendedRatio, isWellFormedRatio, nearestRatio } from "../../src/models/aspect-ratio.ts";
import { words } from "../support/words.ts";
import { ALL_RATIOS } from "./document.ts";

describe("isWellFormedRatio", () => {
  it.each([...ALL_RATIOS, "1920:1080", "7:5"])("accepts %s", (value) => {
    expect(isWellFormedRatio(value)).toBe(true);
  });

  const malformed = [...words("16x9 16/9 16: :9 0:1 1:0 -1:1 1.5:1 1:1:1 AUTO ١:١"), "", " 1:1", "1:1\n"];
  it.each(malformed)("rejects %j", (value) => {
    expect(isWellFormedRatio(value)).toBe(false);
  });
});

describe("intendedRatio", () => {
  it.each([
    ["16x9", "16:9"],
    ["16X9", "16:9"],
    ["16 : 9", "16:9"],
    ["16×9", "16:9"],
    ["16/9", "16:9"],
    ["1920:1080", "16:9"],
    ["1920x1080", "16:9"],
    ["1024*1024", "1:1"],
    ["016:09", "16:9"],
    [" Auto ", "auto"],
    ["16x10", "16:10"],
    ["16:9", "16:9"],
  ])("reads %j as %s", (value, intended) => {
    expect(intendedRatio(value)).toBe(intended);
  });

  it.each(["", "wide", "1.5:1", "0x1", "16:9:1", `${"9".repeat(400)}:1`])("makes nothing of %j", (value) => {
    expect(intendedRatio(value)).toBeUndefined();
  });
});

describe("nearestRatio", () => {
  it.each([
    ["16:10", "3:2"],
    ["32:9", "21:9"],
    ["1:100", "9:16"],
    ["1000:999", "1:1"],
  ])("takes %s for closest to %s", (value, nearest) => {
    expect(nearestRatio(value, ["auto", "1:1", "3:2", "2:3", "16:9", "9:16", "21:9"])).toBe(nearest);
  });

  it("has nothing near auto, which has no shape", () => {
    expect(nearestRatio("auto", ["1:1"])).toBeUndefined();
  });
});
