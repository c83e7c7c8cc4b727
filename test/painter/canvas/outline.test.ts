import { describe, expect, test } from "vitest";
import { readShapes } from "../../../src/painter/canvas/outline.ts";
import { seededRandom } from "../../../src/painter/random.ts";

const read = (notation: string) => readShapes(notation, seededRandom("test"));

describe("the notation of shapes", () => {
  test("M and L draw straight lines, and each M begins a contour", () => {
    expect(read("M0 0 L10 0 10 5 M1 2 L3 4")).toEqual([
      [
        [0, 0],
        [10, 0],
        [10, 5],
      ],
      [
        [1, 2],
        [3, 4],
      ],
    ]);
  });

  test.each(["M0 0 Q10 0 10 10", "M0 0 C5 0 10 5 10 10"])("%s is a curve to its last point", (notation) => {
    const [contour = []] = read(notation);
    expect(contour.length).toBeGreaterThan(6);
    expect(contour.at(-1)?.map(Math.round)).toEqual([10, 10]);
    expect(contour.every(([x, y]) => x >= 0 && x <= 10 && y >= 0 && y <= 10)).toBe(true);
  });

  test("R is a rectangle, O an ellipse, S a line with width, B a heap of clumps", () => {
    expect(read("R1 2 3 4")[0]).toEqual([
      [1, 2],
      [4, 2],
      [4, 6],
      [1, 6],
    ]);
    for (const [x, y] of read("O5 5 2 1")[0] ?? [])
      expect(((x - 5) / 2) ** 2 + (y - 5) ** 2).toBeCloseTo(1, 5);
    expect(read("S2 2 0 0 10 0")[0]).toHaveLength(4);
    expect(read("B0 0 10 10 7 2")).toHaveLength(7);
  });
});
