// Separate from `redact.ts`, which every command loads, because node:crypto takes 3 ms to load.
import { createHash } from "node:crypto";
import { SERVER_KEY_PREFIX } from "./redact.ts";

/** Makes the fingerprint differ from other digests of a key. Must not change, because tasks contain fingerprints. */
const DOMAIN = "imggen api key\0";

/** Identifies a key without revealing it. A key of `imggen serve` has the fingerprint of its earlier form, `sk-…`. */
export function keyFingerprint(key: string): string {
  const plain = key.startsWith(SERVER_KEY_PREFIX) ? `sk-${key.slice(SERVER_KEY_PREFIX.length)}` : key;
  return createHash("sha256").update(DOMAIN).update(plain).digest("hex").slice(0, 16);
}

export function hashToNumber(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE() >>> 1;
}
