import { type Edges, edgesOf, markCoverage } from "./edges.ts";
import type { Layer, Row } from "./layer.ts";
import type { Outline } from "./outline.ts";
import { mix, type Rgb } from "./rgb.ts";

/**
 * Writes red, green, blue (0 to 255) and opacity (0 to 1) of one pixel into `into`. `across` is where the pixel
 * lies between the left end (-1) and the right end (1) of the shape in this row.
 */
type Shader = (x: number, y: number, into: Float32Array, across: number) => void;

/**
 * Lays `share` (0 to 1) of a colour over the pixel whose red value is at `at`. It does not take the colour apart
 * as `[red, green, blue]`: for every pixel, that would cost more than all else here.
 */
function blend(pixels: Float32Array, at: number, color: Rgb | Float32Array, share: number): void {
  for (let c = 0; c < 3; c++) {
    const below = pixels[at + c] as number;
    pixels[at + c] = below + ((color[c] as number) - below) * share;
  }
}

/** A shape in one colour. */
export function fill(outline: Outline, color: Rgb, opacity = 1): Layer {
  return fillFading(outline, color, color, opacity);
}

/** A shape whose colour runs from `upper` at its top to `lower` at its bottom. */
export function fillFading(outline: Outline, upper: Rgb, lower: Rgb, opacity = 1): Layer {
  const edges = edgesOf(outline);
  const { top, bottom } = edges;
  return {
    top,
    bottom,
    paint(row, y) {
      const color = upper === lower ? upper : mix(upper, lower, (y - top) / (bottom - top));
      eachCovered(edges, row, y, (x, covered) => blend(row.pixels, x * 3, color, covered * opacity));
    },
  };
}

/** A shape whose every pixel is coloured by `shader`. */
export function fillShaded(outline: Outline, shader: Shader): Layer {
  const edges = edgesOf(outline);
  const color = new Float32Array(4);
  return {
    top: edges.top,
    bottom: edges.bottom,
    paint(row, y) {
      const { pixels, marked } = row;
      eachCovered(edges, row, y, (x, covered) => {
        color[3] = 1;
        shader(x, y, color, ((x - marked.from) * 2) / Math.max(1, marked.to - 1 - marked.from) - 1);
        blend(pixels, x * 3, color, covered * (color[3] as number));
      });
    },
  };
}

/** Calls `paint` with each pixel of row `y` that a shape covers, and how much of it, 0 to 1. */
function eachCovered(edges: Edges, row: Row, y: number, paint: (x: number, covered: number) => void): void {
  markCoverage(edges, row, y);
  const { mask, marked, width } = row;
  let sum = 0;
  for (let x = marked.from; x < marked.to; x++) {
    sum += mask[x] as number;
    mask[x] = 0;
    const covered = Math.min(1, Math.abs(sum));
    if (covered >= 0.004) paint(x, covered);
  }
  // What lies right of the frame is marked past the last pixel, where it is never read.
  mask.fill(0, width);
}

/** Light around a point that fades to nothing at `radius` pixels; `strength` is its share at the centre. */
export function glow(x: number, y: number, radius: number, color: Rgb, strength: number): Layer {
  return {
    top: Math.floor(y - radius),
    bottom: Math.ceil(y + radius),
    paint({ pixels, width }, rowY) {
      const down = (rowY + 0.5 - y) / radius;
      const reach = radius * Math.sqrt(Math.max(0, 1 - down * down));
      const end = Math.min(width, Math.ceil(x + reach));
      for (let column = Math.max(0, Math.floor(x - reach)); column < end; column++) {
        const across = (column + 0.5 - x) / radius;
        const left = 1 - across * across - down * down;
        if (left > 0) blend(pixels, column * 3, color, strength * left * left * left);
      }
    },
  };
}
