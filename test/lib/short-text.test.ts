import { expect, it } from "vitest";
import { inOneLine, listed, shortened } from "../../src/lib/short-text.ts";

it("lists the first of many names, and says how many others there are", () => {
  expect(listed(["a", "b"], 2)).toBe("a, b");
  expect(listed(["a", "b", "c", "d"], 2)).toBe("a, b, and 2 more");
  expect(listed(["a", "b"], 1, "; ")).toBe("a; and 1 more");
  expect(listed([])).toBe("");
});

it("marks a text that is cut", () => {
  expect([shortened("fox", 3), shortened("foxes", 3)]).toEqual(["fox", "fox…"]);
});

it("folds line breaks and spaces", () => {
  expect(inOneLine(" a\n\t fox ")).toBe("a fox");
});
