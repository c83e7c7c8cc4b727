// Separate from `redact.ts`, which every command loads: node:crypto takes 3 ms to load.
import { createHash } from "node:crypto";
import { SERVER_KEY } from "./redact.ts";

/** Domain separation from other digests of the key. A change would orphan stored tasks. */
const DOMAIN = "imggen api key\0";

/**
 * 16 hexadecimal digits that identify an API key on disk without revealing it. Earlier releases printed the key of a server
 * (`imggen serve`) as `sk-…`: it is the same account.
 */
export function keyFingerprint(key: string): string {
  const plain = key.startsWith(SERVER_KEY) ? `sk-${key.slice(SERVER_KEY.length)}` : key;
  return createHash("sha256").update(DOMAIN).update(plain).digest("hex").slice(0, 16);
}

/** A 31-bit hash of a text. */
export function hashNumber(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE() >>> 1;
}
