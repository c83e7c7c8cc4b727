import { describe, expect, test } from "vitest";
import { createBrush, type Point, type Rgb, type Shape } from "../../src/painter/brush.ts";
import { parseShapes } from "../../src/painter/drawing.ts";

const WHITE: Rgb = [255, 255, 255];

/** The red values of all rows, with the shape painted in white on black. */
function painted(outline: Shape["outline"], width: number, height: number): number[] {
  const paintRow = createBrush([{ outline, colors: [WHITE], opacity: 1 }], width);
  return Array.from({ length: height }, (_, y) => {
    const row = new Uint8Array(width * 3);
    paintRow(y, row);
    return [...row].filter((_, i) => i % 3 === 0);
  }).flat();
}

const areaOf = (values: number[]) => values.reduce((sum, value) => sum + value / 255, 0);

describe("a filled shape", () => {
  test("covers border pixels by the area that lies inside", () => {
    expect(painted(parseShapes("R1.5 0 1 1"), 4, 1)).toEqual([0, 127, 127, 0]);
  });

  test("covers as much as it measures, also on slanted and round sides", () => {
    expect(areaOf(painted(parseShapes("O20 20 12.3 12.3"), 40, 40)) / (Math.PI * 12.3 ** 2)).toBeCloseTo(
      1,
      1,
    );
    expect(areaOf(painted(parseShapes("M2 1 L37 9 5 30"), 40, 40)) / 495.5).toBeCloseTo(1, 2);
  });

  test("is not thinner where its contours overlap, whichever way they wind", () => {
    const [one = [], other = []] = parseShapes("R0 0 3 1 R1 0 3 1");
    expect(painted([one, [...other].reverse()], 5, 1)).toEqual([255, 255, 255, 255, 0]);
  });

  test("is cut off at the frame", () => {
    expect(painted(parseShapes("R-50 -50 100 100"), 3, 1)).toEqual([255, 255, 255]);
    expect(painted(parseShapes("R50 0 10 10"), 3, 1)).toEqual([0, 0, 0]);
  });

  test("runs from its first colour to its last, and lets through what it does not hide", () => {
    const outline = parseShapes("R0 0 1 256");
    const paintRow = createBrush([{ outline, colors: [[0, 0, 0], WHITE], opacity: 0.5 }], 1);
    const rows = Array.from({ length: 256 }, (_, y) => {
      const row = new Uint8Array(3).fill(100);
      paintRow(y, row);
      return row[0] ?? 0;
    });
    expect(rows[0]).toBe(50);
    expect(rows[255]).toBeGreaterThan(174);
    expect(rows.every((value, y) => y === 0 || value >= (rows[y - 1] ?? 0))).toBe(true);
  });
});

describe("the notation of shapes", () => {
  test("M and L draw straight lines, and each M begins a contour", () => {
    const triangle: Point[] = [
      [0, 0],
      [10, 0],
      [10, 5],
    ];
    expect(parseShapes("M0 0 L10 0 10 5 M0 0 L10 0 10 5")).toEqual([triangle, triangle]);
  });

  test("C is a curve to its last point", () => {
    const [contour = []] = parseShapes("M0 0 C5 0 10 5 10 10");
    expect(contour.length).toBeGreaterThan(6);
    expect(contour.at(-1)).toEqual([10, 10]);
    expect(contour.every(([x, y]) => x >= 0 && x <= 10 && y >= 0 && y <= 10)).toBe(true);
  });

  test("R is a rectangle, O an ellipse", () => {
    expect(parseShapes("R1 2 3 4")[0]).toHaveLength(4);
    for (const [x, y] of parseShapes("O5 5 2 1")[0] ?? [])
      expect(((x - 5) / 2) ** 2 + (y - 5) ** 2).toBeCloseTo(1, 5);
  });
});
