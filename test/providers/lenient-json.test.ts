import { expect, it } from "vitest";
import { lenientJson } from "../../src/providers/lenient-json.ts";

it.each([
  ["[NaN, Infinity, -Infinity, 1]", [null, null, null, 1]],
  ['{"a": NaN, "NaN": "say \\"NaN\\" \\\\", "b": -Infinity}', { a: null, NaN: 'say "NaN" \\', b: null }],
  ['{"a": NaN', null],
  ["NaN and more", null],
  ['{"a": 1}', { a: 1 }],
])("%s is read as Python means it", (text, value) => {
  expect(lenientJson(text)).toEqual(value);
});

it("is quick with an image of megabytes, and as many backslashes", () => {
  const image = "NaN/".repeat(2 ** 20);
  const slashes = "\\\\".repeat(2 ** 20);
  const start = performance.now();
  expect(lenientJson(`{"a": NaN, "b": "${image}", "c": "${slashes}"}`)).toMatchObject({ a: null, b: image });
  expect(performance.now() - start).toBeLessThan(5_000);
});
