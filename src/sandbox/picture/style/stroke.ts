import type { Noise } from "../seed/noise.ts";

/** A stroke of a loaded brush. Lengths in pixels of the picture. */
export interface Stroke {
  readonly x: number;
  readonly y: number;
  readonly halfLength: number;
  readonly halfWidth: number;
  readonly cos: number;
  readonly sin: number;
  readonly red: number;
  readonly green: number;
  readonly blue: number;
  /** Where on the brush its bristles begin. */
  readonly bristle: number;
  /** Decides which of two strokes lies above the other. */
  readonly order: number;
}

const BRISTLES = 4096;
/** How many entries of the bristle table lie under half the brush. */
const BRISTLES_ACROSS = 52;
const BRISTLES_TO_A_HAIR = 4;

/** How much paint each bristle of a wide brush holds, from 0 to 1; strokes use a part of it. */
export function loadedBrush(noise: Noise): Float32Array {
  return Float32Array.from({ length: BRISTLES }, (_, i) => 0.5 + 0.5 * noise(i / BRISTLES_TO_A_HAIR, 0.5));
}

/** The rows of a band while strokes are laid on it. */
export interface Wet {
  readonly width: number;
  readonly top: number;
  readonly rows: number;
  readonly pixels: Float32Array;
}

/** Lays the part of the stroke that falls into the band. */
export function layStroke(wet: Wet, stroke: Stroke, brush: Float32Array): void {
  const { x, y, halfLength, halfWidth } = stroke;
  // A stroke that is level or upright to the last digit would have to divide by zero.
  const cos = stroke.cos || 1e-9;
  const sin = stroke.sin || 1e-9;
  const reach = halfLength * Math.abs(sin) + halfWidth * Math.abs(cos);
  const lengthwise = halfLength / Math.abs(cos);
  const crosswise = halfWidth / Math.abs(sin);
  const last = Math.min(wet.top + wet.rows - 1, Math.ceil(y + reach));
  for (let row = Math.max(wet.top, Math.floor(y - reach)); row <= last; row++) {
    const down = row + 0.5 - y;
    const ends = x - (down * sin) / cos;
    const sides = x + (down * cos) / sin;
    const from = Math.max(0, Math.ceil(Math.max(ends - lengthwise, sides - crosswise) - 0.5));
    const to = Math.min(wet.width - 1, Math.floor(Math.min(ends + lengthwise, sides + crosswise) - 0.5));
    if (from <= to) layRow(wet, stroke, brush, (row - wet.top) * wet.width, from, to, down);
  }
}

function layRow(
  wet: Wet,
  stroke: Stroke,
  brush: Float32Array,
  offset: number,
  from: number,
  to: number,
  down: number,
): void {
  const { pixels } = wet;
  const { cos, sin, red, green, blue, halfLength, halfWidth, bristle } = stroke;
  const right = from + 0.5 - stroke.x;
  const fade = 4 / halfLength;
  const acrossStep = -sin / halfWidth;
  let along = right * cos + down * sin;
  let across = (down * cos - right * sin) / halfWidth;
  for (let at = (offset + from) * 3; at <= (offset + to) * 3; at += 3, along += cos, across += acrossStep) {
    const hair = brush[((across + 1) * BRISTLES_ACROSS + bristle) & (BRISTLES - 1)] as number;
    // Every hair runs dry at a place of its own.
    const wetness = (halfLength * (0.72 + 0.28 * hair) - Math.abs(along)) * fade;
    const edge = (1 - Math.abs(across)) * halfWidth;
    const share = Math.min(0.94, Math.min(wetness, edge));
    if (share <= 0) continue;
    const relief = 0.955 + 0.1 * hair - 0.035 * across;
    pixels[at] = (pixels[at] as number) + (red * relief - (pixels[at] as number)) * share;
    pixels[at + 1] = (pixels[at + 1] as number) + (green * relief - (pixels[at + 1] as number)) * share;
    pixels[at + 2] = (pixels[at + 2] as number) + (blue * relief - (pixels[at + 2] as number)) * share;
  }
}
