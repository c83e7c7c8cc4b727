import { image2sixel } from "sixel/lib/SixelEncoder.js";
import type { Pixels } from "./decoder.ts";

/** What terminals with sixel graphics have at least. */
const COLORS = 256;

/** Shows pixels at the cursor. */
export function sixelPicture({ data, width, height }: Pixels): string {
  // The library takes the whole of the array's buffer.
  return `${image2sixel(Uint8Array.from(data), width, height, COLORS)}\n`;
}
