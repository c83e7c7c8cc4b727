import { describe, expect, test } from "vitest";
import { readShapes } from "../../../src/painter/canvas/outline.ts";

describe("the notation of shapes", () => {
  test("M and L draw straight lines, and each M begins a contour", () => {
    const triangle = [
      [0, 0],
      [10, 0],
      [10, 5],
    ];
    expect(readShapes("M0 0 L10 0 10 5 M0 0 L10 0 10 5")).toEqual([triangle, triangle]);
  });

  test("C is a curve to its last point", () => {
    const [contour = []] = readShapes("M0 0 C5 0 10 5 10 10");
    expect(contour.length).toBeGreaterThan(6);
    expect(contour.at(-1)).toEqual([10, 10]);
    expect(contour.every(([x, y]) => x >= 0 && x <= 10 && y >= 0 && y <= 10)).toBe(true);
  });

  test("R is a rectangle, O an ellipse", () => {
    expect(readShapes("R1 2 3 4")[0]).toHaveLength(4);
    for (const [x, y] of readShapes("O5 5 2 1")[0] ?? [])
      expect(((x - 5) / 2) ** 2 + (y - 5) ** 2).toBeCloseTo(1, 5);
  });
});
