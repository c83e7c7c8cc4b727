import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pictureDimensions } from "../../src/models/dimensions.ts";

describe("the size of a picture", () => {
  test.each([
    [undefined, undefined, 1024, 1024],
    ["auto", "1K", 1024, 1024],
    ["1:1", "basic", 1024, 1024],
    ["16:9", "1K", 1024, 576],
    ["21:9", "1K", 1008, 432],
    ["3:2", "1K", 1008, 672],
    ["9:16", "2K", 1152, 2048],
    ["4:3", "high", 2048, 1536],
    ["1:8", "4K", 512, 4096],
    ["5:4", "1K", 1000, 800],
    ["27:16", "4K", 3888, 2304],
    ["1:1", "8K", 1024, 1024],
    ["1:1000", "1K", 8, 1024],
    ["5000:1", "1K", 1024, 8],
  ])("of ratio %s and quality %s is %i by %i", (ratio, quality, width, height) => {
    expect(pictureDimensions(ratio, quality)).toEqual({ width, height });
  });

  test.each(["", "1", "16x9", "0:1", "1:0", "-1:2", "1.5:1", "a:b", "1:2:3", "9999999999:1"])(
    "is square for %j, which is no ratio",
    (ratio) => {
      expect(pictureDimensions(ratio, "1K")).toEqual({ width: 1024, height: 1024 });
    },
  );

  test("keeps every ratio exactly, and comes as near to the limit as it can", () => {
    const side = fc.integer({ min: 1, max: 64 });
    fc.assert(
      fc.property(side, side, fc.constantFrom("1K", "2K", "4K"), (across, down, quality) => {
        const { width, height } = pictureDimensions(`${across}:${down}`, quality);
        const limit = { "1K": 1024, "2K": 2048, "4K": 4096 }[quality];
        expect(width * down).toBe(height * across);
        expect(Math.max(width, height)).toBeLessThanOrEqual(limit);
        expect([width % 8, height % 8]).toEqual([0, 0]);
        expect(Math.max(width, height)).toBeGreaterThan(limit - 8 * Math.max(across, down));
      }),
    );
  });
});
