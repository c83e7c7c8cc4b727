// Separate from `redact.ts`, which every command loads: node:crypto takes 3 ms to load.
import { createHash } from "node:crypto";

/** Domain separation from other digests of the key. A change would orphan stored tasks. */
const DOMAIN = "imggen api key\0";

/** 16 hexadecimal digits that identify an API key on disk without revealing it. */
export function keyFingerprint(key: string): string {
  return createHash("sha256").update(DOMAIN).update(key).digest("hex").slice(0, 16);
}

/** A 31-bit hash of a text. */
export function hashNumber(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE() >>> 1;
}
