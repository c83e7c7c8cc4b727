import { expect, it } from "vitest";
import { readUsage } from "../../src/providers/reply-facts.ts";

const asIs = (text: string) => text;

it("is what the provider says, with its secrets hidden", () => {
  const usage = { total_tokens: 7, details: { cached: [1, null, true], note: "key abc" } };
  expect(readUsage(usage, asIs)).toEqual(usage);
  expect(readUsage(usage, (text) => text.replace("abc", "…"))).toMatchObject({ details: { note: "key …" } });
});

it.each([null, undefined, 7, "7", [], {}])(
  "is nothing where there is no object with something in it: %j",
  (said) => {
    expect(readUsage(said, asIs)).toBeNull();
  },
);

it("leaves out what is too large, and keeps the rest", () => {
  const usage = readUsage({ before: 1, log: "x".repeat(2 ** 21), after: 2 }, asIs);
  expect(usage).toEqual({ before: 1, after: 2 });
  const many = readUsage(
    Object.fromEntries([...Array(10_000).keys()].map((at) => [`k${at}`, "é".repeat(9)])),
    asIs,
  );
  expect(Buffer.byteLength(JSON.stringify(many))).toBeLessThan(16 * 1024);
  expect(many).toHaveProperty("k0");
});

it("leaves out what JSON has no form for", () => {
  expect(readUsage({ cost: undefined, big: 1n, say() {}, tokens: 7 }, asIs)).toEqual({ tokens: 7 });
});

it("leaves out what is too deep", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(3000)}1${"}".repeat(3000)}`);
  expect(readUsage({ tokens: 1, deep }, asIs)).toEqual({ tokens: 1 });
});
