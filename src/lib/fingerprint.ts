// Separate from `redact.ts`, because every command loads that and node:crypto takes 3 ms to load.
import { createHash } from "node:crypto";
import { SERVER_KEY_PREFIX } from "./redact.ts";

/** Separates this digest from others of the key. A change would orphan stored tasks. */
const DOMAIN = "imggen api key\0";

/** Identifies a key without revealing it. A key of `imggen serve` counts as its earlier form, `sk-…`. */
export function keyFingerprint(key: string): string {
  const plain = key.startsWith(SERVER_KEY_PREFIX) ? `sk-${key.slice(SERVER_KEY_PREFIX.length)}` : key;
  return createHash("sha256").update(DOMAIN).update(plain).digest("hex").slice(0, 16);
}

export function hashToNumber(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE() >>> 1;
}
