import type { Layer } from "../canvas/layer.ts";

/** Changes red, green and blue (0 to 255) of the pixel at `at` in place. */
export type Grade = (pixels: Float32Array, at: number) => void;

export type GradeName = "noir" | "sepia" | "pastel" | "vivid";

export const GRADES: Readonly<Record<GradeName, Grade>> = {
  noir: (pixels, at) => {
    const grey = contrasty(luminance(pixels, at));
    set(pixels, at, grey, grey, grey);
  },
  sepia: (pixels, at) => {
    const grey = luminance(pixels, at) * 0.86 + 24;
    set(pixels, at, grey * 1.06 + 8, grey * 0.9, grey * 0.68);
  },
  pastel: (pixels, at) => {
    for (let i = at; i < at + 3; i++) pixels[i] = 118 + (pixels[i] as number) * 0.54;
  },
  vivid: (pixels, at) => {
    const grey = luminance(pixels, at);
    for (let i = at; i < at + 3; i++) pixels[i] = grey + ((pixels[i] as number) - grey) * 1.55;
  },
};

/** How bright the pixel looks, 0 to 255. */
export function luminance(pixels: Float32Array, at: number): number {
  return 0.3 * (pixels[at] as number) + 0.59 * (pixels[at + 1] as number) + 0.11 * (pixels[at + 2] as number);
}

/** The grade as a last layer over the whole frame. */
export function graded(grade: Grade, height: number): Layer {
  return {
    top: 0,
    bottom: height,
    paint({ pixels, width }) {
      for (let at = 0; at < width * 3; at += 3) grade(pixels, at);
    },
  };
}

/** An S-curve over 0 to 255: deep shadows, bright lights. */
function contrasty(value: number): number {
  const share = Math.min(1, Math.max(0, value / 235));
  return 255 * share * share * (3 - 2 * share);
}

function set(pixels: Float32Array, at: number, red: number, green: number, blue: number): void {
  pixels[at] = red;
  pixels[at + 1] = green;
  pixels[at + 2] = blue;
}
