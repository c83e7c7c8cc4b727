import { expect, it } from "vitest";
import { lenientJson } from "../../src/providers/lenient-json.ts";
import { cpuTimeOf } from "../support/cpu-time.ts";

it.each([
  ["[NaN, Infinity, -Infinity, 1]", [null, null, null, 1]],
  ['{"a": NaN, "NaN": "say \\"NaN\\" \\\\", "b": -Infinity}', { a: null, NaN: 'say "NaN" \\', b: null }],
  ['{"a": NaN', null],
  ["NaN and more", null],
  ['{"a": 1}', { a: 1 }],
])("%s is read as Python means it", (text, value) => {
  expect(lenientJson(text)).toEqual(value);
});

it("is quick with an image of megabytes, and as many backslashes", async () => {
  const image = "NaN/".repeat(2 ** 20);
  const slashes = "\\\\".repeat(2 ** 20);
  const text = `{"a": NaN, "b": "${image}", "c": "${slashes}"}`;
  expect(await cpuTimeOf(() => expect(lenientJson(text)).toMatchObject({ a: null, b: image }))).toBeLessThan(
    20_000,
  );
});
