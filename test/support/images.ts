import { createHash, randomBytes } from "node:crypto";
import { buildPng, pngChunk } from "../lib/image/builders.ts";

/** The image that scripted services return. */
export const PICTURE = buildPng(64, 48);

/** A whole PNG of 8 × 6 pixels; further ones differ in their width. */
export function png(number = 0): Buffer {
  return buildPng(8 + number, 6);
}

/** A picture of about this many KiB, which it carries in a chunk that nobody draws. */
export function heavyPicture(kibibytes: number): Buffer {
  const end = PICTURE.length - pngChunk("IEND").length;
  const weight = pngChunk("noIs", randomBytes(kibibytes * 1024));
  return Buffer.concat([PICTURE.subarray(0, end), weight, PICTURE.subarray(end)]);
}

export function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
