import { describe, expect, test } from "vitest";
import { blankRow, fill, type Layer } from "../../../src/painter/canvas/fill.ts";
import { circle, rectangle } from "../../../src/painter/canvas/outline.ts";

/** The red values of some rows, with the layer painted in white on black. */
function painted(layer: Layer, width: number, height: number): number[] {
  const row = blankRow(width);
  return Array.from({ length: height }, (_, y) => {
    row.pixels.fill(0);
    layer.paint(row, y);
    return Array.from({ length: width }, (_, x) => row.pixels[x * 3] ?? 0);
  }).flat();
}

const WHITE = [255, 255, 255] as const;

describe("a filled shape", () => {
  test("covers border pixels by the area that lies inside", () => {
    const values = painted(fill([rectangle(1.5, 0, 1, 1)], WHITE), 4, 1);
    expect(values.map(Math.round)).toEqual([0, 128, 128, 0]);
  });

  test("covers as much as it measures, also on slanted and round sides", () => {
    const area = painted(fill([circle(20, 20, 12.3)], WHITE), 40, 40).reduce(
      (sum, value) => sum + value / 255,
      0,
    );
    expect(area / (Math.PI * 12.3 ** 2)).toBeCloseTo(1, 1);
    const triangle = painted(
      fill(
        [
          [
            [2, 1],
            [37, 9],
            [5, 30],
          ],
        ],
        WHITE,
      ),
      40,
      40,
    );
    expect(triangle.reduce((sum, value) => sum + value / 255, 0)).toBeCloseTo(495.5, 0);
  });

  test("is not thinner where its contours overlap, whichever way they wind", () => {
    const overlapping = fill([rectangle(0, 0, 3, 1), [...rectangle(1, 0, 3, 1)].reverse()], WHITE);
    expect(painted(overlapping, 5, 1).map(Math.round)).toEqual([255, 255, 255, 255, 0]);
  });

  test("is cut off at the frame", () => {
    expect(painted(fill([rectangle(-50, -50, 100, 100)], WHITE), 3, 1)).toEqual([255, 255, 255]);
    expect(painted(fill([rectangle(50, 0, 10, 10)], WHITE), 3, 1)).toEqual([0, 0, 0]);
  });
});
