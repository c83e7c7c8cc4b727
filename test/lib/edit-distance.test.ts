import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editDistance } from "../../src/lib/edit-distance.ts";

describe("editDistance", () => {
  it.each([
    ["", "", 0],
    ["", "abc", 3],
    ["abc", "", 3],
    ["kitten", "sitting", 3],
    ["flaw", "lawn", 2],
    ["🦊", "x", 1],
  ])("from %j to %j is %i", (from, to, distance) => {
    expect(editDistance(from, to)).toBe(distance);
  });

  it("is the same both ways, and nothing only between equals", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
      }),
    );
  });
});
