import type { Rgb } from "../color/rgb.ts";

/** Lays `share` (0 to 1) of a colour over the pixel whose red value is at `at`. */
export function blend(pixels: Float32Array, at: number, color: Rgb, share: number): void {
  pixels[at] = (pixels[at] as number) + (color[0] - (pixels[at] as number)) * share;
  pixels[at + 1] = (pixels[at + 1] as number) + (color[1] - (pixels[at + 1] as number)) * share;
  pixels[at + 2] = (pixels[at + 2] as number) + (color[2] - (pixels[at + 2] as number)) * share;
}
