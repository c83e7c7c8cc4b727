import { luminanceAt } from "../canvas/rgb.ts";

/** Changes red, green and blue of one pixel, the first of them at index `at`. */
export type Grade = (pixels: Uint8ClampedArray, at: number) => void;

export type GradeName = "noir" | "sepia" | "pastel" | "vivid";

/** Treatments of the finished picture. */
export const GRADES: Readonly<Record<GradeName, Grade>> = {
  noir: (pixels, at) => {
    const share = luminanceAt(pixels, at) / 255;
    const grey = 255 * share * (0.45 + 0.55 * share * (3 - 2 * share));
    for (let i = at; i < at + 3; i++) pixels[i] = grey;
  },
  sepia: (pixels, at) => {
    const grey = luminanceAt(pixels, at) * 0.86 + 24;
    pixels[at] = grey * 1.06 + 8;
    pixels[at + 1] = grey * 0.9;
    pixels[at + 2] = grey * 0.68;
  },
  pastel: (pixels, at) => {
    for (let i = at; i < at + 3; i++) pixels[i] = 118 + (pixels[i] as number) * 0.54;
  },
  vivid: (pixels, at) => {
    const grey = luminanceAt(pixels, at);
    for (let i = at; i < at + 3; i++) pixels[i] = grey + ((pixels[i] as number) - grey) * 1.5;
  },
};
