import { createHash } from "node:crypto";

/** Keeps this digest apart from any other that is made of the same key. Changing it orphans what is stored. */
const DOMAIN = "imggen api key\0";

/** 16 hexadecimal digits that tell API keys apart on disk without giving the key away. */
export function keyFingerprint(key: string): string {
  return createHash("sha256").update(DOMAIN).update(key).digest("hex").slice(0, 16);
}
