import type { Size } from "../lib/image/format.ts";

/** Shows an image file of any type at the cursor, so many characters wide and high: https://iterm2.com/documentation-images.html */
export function iterm2Picture(file: Buffer, { width, height }: Size): string {
  const how = `inline=1;size=${file.length};width=${width};height=${height};preserveAspectRatio=1`;
  return `\u001b]1337;File=${how}:${file.toString("base64")}\u0007\n`;
}
