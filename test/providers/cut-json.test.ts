import fc from "fast-check";
import { expect, it } from "vitest";
import { closedFields } from "../../src/providers/cut-json.ts";
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
  expect(closedFields(cut)).toEqual(fields);
});

it("whatever is cut, every field is as the whole object has it", () => {
  holds(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(200), (whole, at) => {
      const fields = closedFields(JSON.stringify(whole).slice(0, -1).slice(0, at));
      const parsed = JSON.parse(JSON.stringify(whole));
      for (const [name, value] of Object.entries(fields)) expect(value).toEqual(parsed[name]);
    }),
  );
});
