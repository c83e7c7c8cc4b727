import { expect, it } from "vitest";
import { secretsMasker } from "../../src/lib/redact.ts";

it("hides a user and a password, in the header's form too, and the password alone", () => {
  const mask = secretsMasker("ada:s3cret-word", {});
  const basic = Buffer.from("ada:s3cret-word").toString("base64");
  for (const text of [
    "ada:s3cret-word",
    `Basic ${basic}`,
    "wrong password s3cret-word",
    encodeURIComponent("ada:s3cret-word"),
  ])
    expect(mask(`before ${text} after`)).not.toMatch(/s3cret|YWRh/);
  expect(mask("ada may come in")).toBe("ada may come in");
});

it("hides no words for a short password, or a short value of a header", () => {
  expect(secretsMasker("ada:a", {})("a fox")).toBe("a fox");
  const mask = secretsMasker(null, { "x-version": "1", "x-secret": "long-enough" });
  expect(mask("version 1 of long-enough")).toMatch(/^version 1 of …/);
});

it("hides the credentials in a header without their scheme", () => {
  expect(secretsMasker(null, { authorization: "Bearer token-1234" })("bad token-1234")).toBe("bad …");
});
