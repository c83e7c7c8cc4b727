import { setImmediate } from "node:timers/promises";
import type { RowPainter, Style } from "./style.ts";
import { brightnessAt, nearest, type Underpainting, underpaint } from "./underpainting.ts";

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
  { size: 0.005, detail: 11, elsewhere: 0.01 },
];
const STROKES_AT_A_TIME = 400;
/** A prime number: every so many-th place after the other, so that no side of the strokes is always on top. */
const STRIDE = 7919;

/** A stroke of a loaded brush. Lengths in pixels of the picture. */
interface Stroke {
  readonly x: number;
  readonly y: number;
  readonly halfLength: number;
  readonly halfWidth: number;
  readonly angle: number;
  readonly color: readonly number[];
  /** Where on the brush its bristles begin. */
  readonly bristle: number;
}

/** The paint so far, three bytes to the pixel. */
interface Canvas {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8ClampedArray;
}

/** Thick strokes of a brush over a quick underpainting, on canvas. */
export const oil: Style = async (brief, width, height) => {
  const under = await underpaint(brief, width, height);
  const { noise, random } = under.stage;
  const chance = random("strokes").next;
  const canvas = primed(under, width, height);
  const bristles = new Float32Array(BRISTLES).map((_, i) => 0.5 + 0.5 * noise(i / 4, 0.5));
  for (const brush of BRUSHES) {
    const cell = Math.max(1.6, Math.sqrt(width * height) * brush.size);
    const columns = Math.ceil(width / cell) + 2;
    const count = columns * (Math.ceil(height / cell) + 2);
    for (let i = 0; i < count; i++) {
      const place = (i * STRIDE) % count;
      const x = ((place % columns) - 1 + chance()) * cell;
      const y = (Math.floor(place / columns) - 1 + chance()) * cell;
      const stroke = strokeAt(under, brush, cell, x, y, chance);
      if (stroke) lay(canvas, stroke, bristles);
      if (i % STROKES_AT_A_TIME === 0) await setImmediate();
    }
  }
  return weave(canvas);
};

/** A canvas with the underpainting on it, in the size of the picture. */
function primed(under: Underpainting, width: number, height: number): Canvas {
  const pixels = new Uint8ClampedArray(width * height * 3);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 3) {
      const from = nearest(under, x * under.scale, y * under.scale) * 3;
      for (let c = 0; c < 3; c++) pixels[at + c] = under.pixels[from + c] as number;
    }
  }
  return { width, height, pixels };
}

/** Strokes stand on a jittered grid; they follow the outlines of what they show, and elsewhere the noise. */
function strokeAt(
  under: Underpainting,
  brush: Brush,
  cell: number,
  x: number,
  y: number,
  chance: () => number,
): Stroke | undefined {
  const { stage, pixels, scale } = under;
  const [u, v] = [x * scale, y * scale];
  const reach = Math.max(1, cell * scale * 0.7);
  const right = brightnessAt(under, u + reach, v) - brightnessAt(under, u - reach, v);
  const down = brightnessAt(under, u, v + reach) - brightnessAt(under, u, v - reach);
  const change = Math.hypot(right, down);
  if (change < brush.detail && chance() > brush.elsewhere) return undefined;
  const drift = () => stage.noise(u / (stage.unit * 0.25), v / (stage.unit * 0.18)) * 0.9;
  const at = nearest(under, u, v) * 3;
  const mood = 0.95 + 0.1 * chance();
  return {
    x,
    y,
    halfLength: cell * (1.1 + 0.6 * chance()) * (change > 60 ? 0.8 : 1),
    halfWidth: cell * (0.46 + 0.2 * chance()),
    angle: change > 9 ? Math.atan2(down, right) + Math.PI / 2 : drift(),
    color: [0, 1, 2].map((c) => (pixels[at + c] as number) * mood + (c === 1 ? 0 : (chance() - 0.5) * 9)),
    bristle: chance() * 4000,
  };
}

const BRISTLES = 4096;
/** How many entries of the bristle table lie under half the brush. */
const BRISTLES_ACROSS = 52;

/** @param bristles how much paint each bristle of a wide brush holds, from 0 to 1; a stroke uses a part of it */
function lay({ width, height, pixels }: Canvas, stroke: Stroke, bristles: Float32Array): void {
  const { x, y, halfLength, halfWidth, angle, color, bristle } = stroke;
  // A stroke that is level or upright to the last digit would have to divide by zero.
  const [cos, sin] = [Math.cos(angle) || 1e-9, Math.sin(angle) || 1e-9];
  const [lengthwise, crosswise] = [halfLength / Math.abs(cos), halfWidth / Math.abs(sin)];
  const reach = halfLength * Math.abs(sin) + halfWidth * Math.abs(cos);
  const bottom = Math.min(height, y + reach);
  for (let row = Math.max(0, Math.floor(y - reach)); row < bottom; row++) {
    const down = row + 0.5 - y;
    const [ends, sides] = [x - (down * sin) / cos, x + (down * cos) / sin];
    const from = Math.max(0, Math.ceil(Math.max(ends - lengthwise, sides - crosswise) - 0.5));
    const to = Math.min(width - 1, Math.floor(Math.min(ends + lengthwise, sides + crosswise) - 0.5));
    for (let column = from; column <= to; column++) {
      const over = column + 0.5 - x;
      const along = Math.abs(over * cos + down * sin) / halfLength;
      const across = (down * cos - over * sin) / halfWidth;
      const hair = bristles[((across + 1) * BRISTLES_ACROSS + bristle) & (BRISTLES - 1)] as number;
      // Every hair runs dry at a place of its own.
      const paint = Math.min(1, (0.72 + 0.28 * hair - along) * 4, (1 - Math.abs(across)) * halfWidth);
      if (paint <= 0) continue;
      const relief = 0.955 + 0.1 * hair - 0.035 * across;
      for (let c = 0, at = (row * width + column) * 3; c < 3; c++, at++) {
        const below = pixels[at] as number;
        pixels[at] = below + ((color[c] as number) * relief - below) * paint;
      }
    }
  }
}

/** The threads of the canvas under the paint. */
function weave({ width, height, pixels }: Canvas): RowPainter {
  const turns = (2 * Math.PI) / Math.max(2, Math.sqrt(width * height) / 420);
  const warp = new Float32Array(width).map((_, x) => Math.sin(x * turns) * 0.022);
  return (y, into) => {
    const weft = Math.sin(y * turns);
    for (let i = 0, at = y * width * 3; i < into.length; i++, at++)
      into[i] = (pixels[at] as number) * (1 + weft * (warp[Math.floor(i / 3)] as number));
  };
}
