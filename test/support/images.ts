import { createHash } from "node:crypto";
import { buildPng } from "../lib/image/builders.ts";

/** The image that scripted services return. */
export const PICTURE = buildPng(64, 48);

/** A whole PNG of 8 × 6 pixels; further ones differ in their width. */
export function png(number = 0): Buffer {
  return buildPng(8 + number, 6);
}

export function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
