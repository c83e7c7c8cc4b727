import { setImmediate } from "node:timers/promises";
import type { Brief } from "../brief/brief.ts";
import { blankRow, paintLayers } from "../canvas/layer.ts";
import { composeScene } from "../scene/scene.ts";
import type { Stage } from "../scene/stage.ts";

const MOST_PIXELS = 420_000;
const ROWS_AT_A_TIME = 48;

/**
 * The whole scene, small: what a brush looks at before each stroke. It never holds more than 420,000
 * pixels, however large the picture is.
 */
export interface Underpainting {
  /** The stage of the small picture, for its noise and random numbers. */
  readonly stage: Stage;
  readonly width: number;
  readonly height: number;
  /** Three bytes to the pixel. */
  readonly pixels: Uint8ClampedArray;
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
  return { stage, width: across, height: down, pixels, scale };
}

/** The pixel of the underpainting nearest to (`x`, `y`) in its own coordinates: index of its red byte. */
export function nearest(from: Underpainting, x: number, y: number): number {
  const column = Math.min(from.width - 1, Math.max(0, Math.floor(x)));
  return (Math.min(from.height - 1, Math.max(0, Math.floor(y))) * from.width + column) * 3;
}

/** The colour at (`x`, `y`) in its own coordinates, smooth between pixels. */
export function sample(from: Underpainting, x: number, y: number, into: Float32Array): void {
  const { width, height, pixels } = from;
  const [left, top] = [Math.min(width - 1, Math.max(0, x - 0.5)), Math.min(height - 1, Math.max(0, y - 0.5))];
  const [column, row] = [Math.floor(left), Math.floor(top)];
  const [right, down] = [left - column, top - row];
  const a = (row * width + column) * 3;
  const b = column + 1 < width ? a + 3 : a;
  const step = row + 1 < height ? width * 3 : 0;
  for (let c = 0; c < 3; c++) {
    const upper = (pixels[a + c] as number) * (1 - right) + (pixels[b + c] as number) * right;
    const lower = (pixels[a + step + c] as number) * (1 - right) + (pixels[b + step + c] as number) * right;
    into[c] = upper + (lower - upper) * down;
  }
}

/** Red, green and blue at once: how bright the pixel at index `at` is, 0 to 255. */
export function brightness(from: Underpainting, at: number): number {
  const { pixels } = from;
  return 0.3 * (pixels[at] as number) + 0.59 * (pixels[at + 1] as number) + 0.11 * (pixels[at + 2] as number);
}
