import { image2sixel } from "sixel/lib/SixelEncoder.js";
import type { Pixels } from "./decoder.ts";

/** What terminals with sixel graphics have at least. */
const COLORS = 256;

/** Shows pixels at the cursor. */
export function sixelPicture({ data, width, height }: Pixels): string {
  // The library reads the array's whole buffer, so it gets a copy of this part alone.
  return `${image2sixel(Uint8Array.from(data), width, height, COLORS)}\n`;
}
