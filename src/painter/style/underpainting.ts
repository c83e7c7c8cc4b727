import { setImmediate } from "node:timers/promises";
import { blankRow, paintLayers } from "../canvas/layer.ts";
import { luminanceAt } from "../canvas/rgb.ts";
import { composeScene } from "../scene/compose.ts";
import type { Stage } from "../scene/stage.ts";
import type { Brief } from "../words/brief.ts";

const MOST_PIXELS = 250_000;
const ROWS_AT_A_TIME = 48;

/** The whole scene, small: what a brush looks at before each stroke. Lengths are pixels of its own. */
export interface Underpainting {
  /** The stage of the small picture, for its noise and random numbers. */
  readonly stage: Stage;
  readonly width: number;
  readonly height: number;
  /** Three bytes to the pixel. */
  readonly pixels: Uint8ClampedArray;
  /** How bright each pixel looks, 0 to 255. */
  readonly brightness: Uint8ClampedArray;
  /** How many of its pixels make one pixel of the picture. */
  readonly scale: number;
}

export async function underpaint(brief: Brief, width: number, height: number): Promise<Underpainting> {
  const scale = Math.min(1, Math.sqrt(MOST_PIXELS / (width * height)));
  const [across, down] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
  const { layers, stage } = composeScene(brief, across, down);
  const row = blankRow(across);
  const pixels = new Uint8ClampedArray(across * down * 3);
  for (let y = 0; y < down; y++) {
    paintLayers(layers, row, y);
    pixels.set(row.pixels, y * across * 3);
    if (y % ROWS_AT_A_TIME === 0) await setImmediate();
  }
  const brightness = new Uint8ClampedArray(across * down);
  for (let i = 0, at = 0; i < brightness.length; i++, at += 3) {
    brightness[i] = luminanceAt(pixels, at);
  }
  return { stage, width: across, height: down, pixels, brightness, scale };
}

/** The index of the pixel nearest to (`x`, `y`). */
export function nearest({ width, height }: { width: number; height: number }, x: number, y: number): number {
  const column = Math.min(width - 1, Math.max(0, Math.floor(x)));
  return Math.min(height - 1, Math.max(0, Math.floor(y))) * width + column;
}

export function brightnessAt(under: Underpainting, x: number, y: number): number {
  return under.brightness[nearest(under, x, y)] as number;
}

/** The colour at (`x`, `y`), smooth between pixels. */
export function sample(
  { width, height, pixels }: Underpainting,
  x: number,
  y: number,
  into: Float32Array,
): void {
  const left = Math.min(width - 1, Math.max(0, x - 0.5));
  const top = Math.min(height - 1, Math.max(0, y - 0.5));
  const column = Math.floor(left);
  const row = Math.floor(top);
  const right = left - column;
  const down = top - row;
  const a = (row * width + column) * 3;
  const b = column + 1 < width ? a + 3 : a;
  const step = row + 1 < height ? width * 3 : 0;
  for (let c = 0; c < 3; c++) {
    const upper = (pixels[a + c] as number) * (1 - right) + (pixels[b + c] as number) * right;
    const lower = (pixels[a + step + c] as number) * (1 - right) + (pixels[b + step + c] as number) * right;
    into[c] = upper + (lower - upper) * down;
  }
}
