import fc from "fast-check";
import { expect, it } from "vitest";
import { parseLenientJson, parseTruncatedFields } from "../../src/providers/reply-json.ts";
import { cpuTimeOf } from "../support/cpu-time.ts";
import { holds } from "../support/holds.ts";

it.each([
  ['{"id":"a"', { id: "a" }],
  ['{"id":"a', {}],
  ['{"id":"a\\"', {}],
  ['{"id"', {}],
  ['{"id":"a","urls"', { id: "a" }],
  ['{"id":"a","urls":{"get":"b"', { id: "a" }],
  ['{"id":"a","urls":{"get":"b"}', { id: "a", urls: { get: "b" } }],
  ['{"cost":12', {}],
  ['{"cost":12,', { cost: 12 }],
  ['{"a":[1,2],"id":"x,}"', { a: [1, 2], id: "x,}" }],
  ['\uFEFF{"id":"a"', { id: "a" }],
  ['[{"id":"a"', {}],
  ["<html>", {}],
  ["", {}],
])("%s is cut after %j", (cut, fields) => {
  expect(parseTruncatedFields(cut)).toEqual(fields);
});

it("whatever is cut, every field is as the whole object has it", () => {
  holds(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(200), (whole, at) => {
      const fields = parseTruncatedFields(JSON.stringify(whole).slice(0, -1).slice(0, at));
      const parsed = JSON.parse(JSON.stringify(whole));
      for (const [name, value] of Object.entries(fields)) expect(value).toEqual(parsed[name]);
    }),
  );
});

it.each([
  ["[NaN, Infinity, -Infinity, 1]", [null, null, null, 1]],
  ['{"a": NaN, "NaN": "say \\"NaN\\" \\\\", "b": -Infinity}', { a: null, NaN: 'say "NaN" \\', b: null }],
  ['{"a": NaN', null],
  ["NaN and more", null],
  ['{"a": 1}', { a: 1 }],
])("%s is read as Python means it", (text, value) => {
  expect(parseLenientJson(text)).toEqual(value);
});

it("is quick with an image of megabytes, and as many backslashes", async () => {
  const image = "NaN/".repeat(2 ** 20);
  const slashes = "\\\\".repeat(2 ** 20);
  const text = `{"a": NaN, "b": "${image}", "c": "${slashes}"}`;
  expect(
    await cpuTimeOf(() => expect(parseLenientJson(text)).toMatchObject({ a: null, b: image })),
  ).toBeLessThan(20_000);
});
