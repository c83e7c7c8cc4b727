// Apart from what masks keys, which every command needs: node:crypto takes Node 3 ms to load.
import { createHash } from "node:crypto";

/** Makes this digest differ from any other of the same key. Changing it would orphan stored tasks. */
const DOMAIN = "imggen api key\0";

/** 16 hexadecimal digits that identify an API key on disk without revealing it. */
export function keyFingerprint(key: string): string {
  return createHash("sha256").update(DOMAIN).update(key).digest("hex").slice(0, 16);
}

/** A number of 31 bits that is the same for the same text, and differs for any other. */
export function numberOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE() >>> 1;
}
