import { expect, it } from "vitest";
import { collapseWhitespace, describeChoices, joinFirst, truncate } from "../../src/lib/short-text.ts";

it("lists the first of many names, and says how many others there are", () => {
  expect(joinFirst(["a", "b"], 2)).toBe("a, b");
  expect(joinFirst(["a", "b", "c", "d"], 2)).toBe("a, b, and 2 more");
  expect(joinFirst(["a", "b"], 1, "; ")).toBe("a; and 1 more");
  expect(joinFirst([])).toBe("");
});

it("never prints an empty list of what there is", () => {
  expect([describeChoices(["a", "b"]), describeChoices([])]).toEqual(["It has: a, b", "It has none"]);
});

it("marks a text that is cut", () => {
  expect([truncate("fox", 3), truncate("foxes", 3)]).toEqual(["fox", "fox…"]);
});

it("folds line breaks and spaces", () => {
  expect(collapseWhitespace(" a\n\t fox ")).toBe("a fox");
});
