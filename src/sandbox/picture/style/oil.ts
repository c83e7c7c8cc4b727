import { setImmediate } from "node:timers/promises";
import { type Canvas, layStroke, loadedBrush, type Stroke } from "./stroke.ts";
import type { Style } from "./style.ts";
import { nearest, type Underpainting, underpaint } from "./underpainting.ts";

interface Brush {
  /** Distance between strokes, as a share of the size of the picture. */
  readonly size: number;
  /** How much the brightness must change around a place for this brush to touch it, out of 255. */
  readonly detail: number;
  /** The share of other places that it paints too, 0 to 1. */
  readonly elsewhere: number;
}

/** From the widest brush to the finest, which is only used where there is something to see. */
const BRUSHES: readonly Brush[] = [
  { size: 0.026, detail: 4, elsewhere: 0.8 },
  { size: 0.0135, detail: 3, elsewhere: 0.22 },
  { size: 0.0066, detail: 8, elsewhere: 0.02 },
  { size: 0.004, detail: 20, elsewhere: 0.005 },
];
const ROWS_AT_A_TIME = 12;

/** Thick strokes of a brush over a quick underpainting, on canvas. */
export const oil: Style = async (brief, width, height) => {
  const under = await underpaint(brief, width, height);
  const canvas: Canvas = { width, height, pixels: prime(under, width, height) };
  const bristles = loadedBrush(under.stage.noise);
  for (const brush of BRUSHES) {
    const cell = Math.max(1.6, Math.sqrt(width * height) * brush.size);
    const [columns, rows] = [Math.ceil(width / cell) + 1, Math.ceil(height / cell) + 1];
    // Every other cell of every other row at a time, so that no side of the strokes is always on top.
    for (const phase of [0, 3, 1, 2]) {
      for (let row = -1 + (phase >> 1); row < rows; row += 2) {
        for (let column = -1 + (phase & 1); column < columns; column += 2) {
          const stroke = strokeAt(under, brush, cell, column, row);
          if (stroke) layStroke(canvas, stroke, bristles);
        }
        if (row % ROWS_AT_A_TIME < 2) await setImmediate();
      }
    }
  }
  return weave(canvas);
};

/** What shows where no stroke covers the canvas. */
function prime(under: Underpainting, width: number, height: number): Uint8ClampedArray {
  const pixels = new Uint8ClampedArray(width * height * 3);
  for (let y = 0, i = 0; y < height; y++) {
    const start = nearest(under, 0, y * under.scale);
    for (let x = 0; x < width; x++) {
      const from = (start + Math.min(under.width - 1, Math.floor(x * under.scale))) * 3;
      for (let c = 0; c < 3; c++, i++) pixels[i] = under.pixels[from + c] as number;
    }
  }
  return pixels;
}

/** Strokes stand on a jittered grid; they follow the outlines of what they show, and elsewhere the noise. */
function strokeAt(
  under: Underpainting,
  brush: Brush,
  cell: number,
  column: number,
  row: number,
): Stroke | undefined {
  const { stage, brightness, pixels, scale } = under;
  const chance = lottery(column, row, brush.size);
  const x = (column + chance()) * cell;
  const y = (row + chance()) * cell;
  const [u, v] = [x * scale, y * scale];
  const reach = Math.max(1, cell * scale * 0.7);
  const bright = (left: number, down: number) => brightness[nearest(under, left, down)] as number;
  const right = bright(u + reach, v) - bright(u - reach, v);
  const down = bright(u, v + reach) - bright(u, v - reach);
  const change = Math.sqrt(right * right + down * down);
  if (change < brush.detail && chance() > brush.elsewhere) return undefined;
  const flow = change > 9 ? Math.atan2(down, right) + Math.PI / 2 : undefined;
  const angle = flow ?? stage.noise(u / (stage.unit * 0.25), v / (stage.unit * 0.18)) * 0.9;
  const at = nearest(under, u, v) * 3;
  const mood = 0.95 + 0.1 * chance();
  return {
    x,
    y,
    halfLength: cell * (1.1 + 0.6 * chance()) * (change > 60 ? 0.8 : 1),
    halfWidth: cell * (0.46 + 0.2 * chance()),
    // A stroke that is level or upright to the last digit would have to divide by zero.
    cos: Math.cos(angle) || 1e-9,
    sin: Math.sin(angle) || 1e-9,
    red: (pixels[at] as number) * mood + (chance() - 0.5) * 9,
    green: (pixels[at + 1] as number) * mood,
    blue: (pixels[at + 2] as number) * mood + (chance() - 0.5) * 9,
    bristle: chance() * 4000,
  };
}

/** Numbers from 0 to 1 that depend on the cell alone. */
function lottery(column: number, row: number, layer: number): () => number {
  const seed = Math.imul(Math.round(layer * 1e5), 0xc2b2ae35);
  let state = Math.imul(column + 7, 0x9e3779b1) ^ Math.imul(row + 131, 0x85ebca6b) ^ seed;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5;
    return ((state ^ (state >>> 13)) >>> 0) / 0x1_0000_0000;
  };
}

/** The threads of the canvas under the paint. */
function weave({ width, height, pixels }: Canvas): (y: number, into: Uint8ClampedArray) => void {
  const turns = (2 * Math.PI) / Math.max(2, Math.sqrt(width * height) / 420);
  const warp = new Float32Array(width).map((_, x) => Math.sin(x * turns) * 0.022);
  return (y, into) => {
    const weft = Math.sin(y * turns);
    for (let x = 0, i = 0, from = y * width * 3; x < width; x++) {
      const relief = 1 + weft * (warp[x] as number);
      for (let c = 0; c < 3; c++) into[i++] = (pixels[from++] as number) * relief;
    }
  };
}
