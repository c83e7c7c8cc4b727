import type { Noise } from "../random.ts";

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
}

/** What strokes are laid on, each under those before it: what is covered already costs next to nothing. */
export interface Canvas {
  readonly width: number;
  readonly height: number;
  /** The paint so far, three bytes to the pixel. */
  readonly pixels: Uint8ClampedArray;
  /** How much of each pixel still shows what is below, 0 to 255. */
  readonly bare: Uint8ClampedArray;
}

export function blankCanvas(width: number, height: number): Canvas {
  const area = width * height;
  return {
    width,
    height,
    pixels: new Uint8ClampedArray(area * 3),
    bare: new Uint8ClampedArray(area).fill(255),
  };
}

/** Where no more than this is bare, further strokes are not seen. */
export const COVERED = 12;
const BRISTLES = 4096;
/** How many entries of the bristle table lie under half the brush. */
const BRISTLES_ACROSS = 52;

/** How much paint each bristle of a wide brush holds, from 0 to 1; strokes use a part of it. */
export function loadedBrush(noise: Noise): Float32Array {
  return new Float32Array(BRISTLES).map((_, i) => 0.5 + 0.5 * noise(i / 4, 0.5));
}

export function layStroke(canvas: Canvas, stroke: Stroke, brush: Float32Array): void {
  const { x, y, cos, sin, halfLength, halfWidth } = stroke;
  const reach = halfLength * Math.abs(sin) + halfWidth * Math.abs(cos);
  const lengthwise = halfLength / Math.abs(cos);
  const crosswise = halfWidth / Math.abs(sin);
  const last = Math.min(canvas.height - 1, Math.ceil(y + reach));
  for (let row = Math.max(0, Math.floor(y - reach)); row <= last; row++) {
    const down = row + 0.5 - y;
    const ends = x - (down * sin) / cos;
    const sides = x + (down * cos) / sin;
    const from = Math.max(0, Math.ceil(Math.max(ends - lengthwise, sides - crosswise) - 0.5));
    const to = Math.min(canvas.width - 1, Math.floor(Math.min(ends + lengthwise, sides + crosswise) - 0.5));
    if (from <= to) layRow(canvas, stroke, brush, row * canvas.width, from, to, down);
  }
}

function layRow(
  { pixels, bare }: Canvas,
  stroke: Stroke,
  brush: Float32Array,
  offset: number,
  from: number,
  to: number,
  down: number,
): void {
  const { cos, sin, red, green, blue, halfLength, halfWidth, bristle } = stroke;
  const right = from + 0.5 - stroke.x;
  const fade = 4 / halfLength;
  const acrossStep = -sin / halfWidth;
  let along = right * cos + down * sin;
  let across = (down * cos - right * sin) / halfWidth;
  for (let i = offset + from; i <= offset + to; i++, along += cos, across += acrossStep) {
    const below = bare[i] as number;
    if (below <= COVERED) continue;
    const hair = brush[((across + 1) * BRISTLES_ACROSS + bristle) & (BRISTLES - 1)] as number;
    // Every hair runs dry at a place of its own.
    const wetness = (halfLength * (0.72 + 0.28 * hair) - Math.abs(along)) * fade;
    const paint = below * Math.min(1, wetness, (1 - Math.abs(across)) * halfWidth);
    if (paint <= 0) continue;
    bare[i] = (below - paint) | 0;
    // Rounding here is faster than the array's own conversion.
    const relief = ((0.955 + 0.1 * hair - 0.035 * across) * paint) / 255;
    pixels[i * 3] = ((pixels[i * 3] as number) + red * relief + 0.5) | 0;
    pixels[i * 3 + 1] = ((pixels[i * 3 + 1] as number) + green * relief + 0.5) | 0;
    pixels[i * 3 + 2] = ((pixels[i * 3 + 2] as number) + blue * relief + 0.5) | 0;
  }
}
