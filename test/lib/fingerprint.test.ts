import { expect, it } from "vitest";
import { keyFingerprint } from "../../src/lib/fingerprint.ts";

it("a key's fingerprint is the same in every release, since ledgers hold it", () => {
  expect(keyFingerprint("sk-example")).toBe("28fd83b7d5f63871");
});

it("a key's fingerprint differs from another's, and shows nothing of either", () => {
  expect(keyFingerprint("sk-a")).not.toBe(keyFingerprint("sk-b"));
  expect(keyFingerprint("sk-deadbeef")).not.toContain("deadbeef");
});

it("a server's key has the fingerprint of the one that earlier releases printed", () => {
  expect(keyFingerprint("sk-serve-example")).toBe(keyFingerprint("sk-example"));
  expect(keyFingerprint("sk-serve-example")).not.toBe(keyFingerprint("sk-serve-other"));
});
