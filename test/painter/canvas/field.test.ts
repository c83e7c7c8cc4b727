import { expect, test } from "vitest";
import { softField } from "../../../src/painter/canvas/field.ts";

test.each([1, 3, 7])("a field sampled every %i pixels runs in straight lines between samples", (step) => {
  const field = softField(20, step, 2, (x, y, into, at) => {
    into[at] = 3 * x + y;
    into[at + 1] = -x;
  });
  const row = new Float32Array(40);
  for (const y of [0, 1, 2, 9, 10, 4]) {
    field(y, row);
    for (let x = 0; x < 20; x++) {
      expect(row[x * 2]).toBeCloseTo(3 * x + y, 3);
      expect(row[x * 2 + 1]).toBeCloseTo(-x, 3);
    }
  }
});
