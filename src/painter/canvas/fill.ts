import { mix, type Rgb } from "./color.ts";
import { circle, type Outline, type Point } from "./outline.ts";

/** One row of the picture while it is painted. */
export interface Row {
  /** Width in pixels. */
  readonly width: number;
  /** Red, green, blue of each pixel, 0 to 255, not rounded yet. */
  readonly pixels: Float32Array;
  /** Scratch for shapes, all zero between uses. */
  readonly mask: Float32Array;
}

/** Something painted over what is already in the row. Rows come from top to bottom, each once. */
export interface Layer {
  /** The rows it can touch: from `top`, up to but not including `bottom`. */
  readonly top: number;
  bottom: number;
  paint(row: Row, y: number): void;
}

export function blankRow(width: number): Row {
  return { width, pixels: new Float32Array(width * 3), mask: new Float32Array(width + 4) };
}

/** Paints row `y` of all layers, the first one lowest. */
export function paintLayers(layers: readonly Layer[], row: Row, y: number): void {
  for (const layer of layers) if (y >= layer.top && y < layer.bottom) layer.paint(row, y);
}

/**
 * The colour of a shape: for each row it writes red, green, blue (0 to 255) into `color`; `share` runs from 0 at the
 * top of the shape to 1 at its bottom. Where a row has more than one colour, it returns what writes that of one pixel,
 * and its opacity (0 to 1).
 */
export type Ink = (y: number, color: Float32Array, share: number) => ((x: number) => void) | null;

/** Runs from `upper` at the top of a shape to `lower` at its bottom. */
export function fading(upper: Rgb, lower: Rgb): Ink {
  return (_, color, share) => {
    color.set(mix(upper, lower, share));
    return null;
  };
}

/** Light around a point that fades to nothing at `radius` pixels; `strength` is its share at the centre. */
export function glow(x: number, y: number, radius: number, light: Rgb, strength: number): Layer {
  const ink: Ink = (row, color) => (column) => {
    const distance = Math.hypot(column + 0.5 - x, row + 0.5 - y) / radius;
    color.set(light);
    color[3] = strength * Math.max(0, 1 - distance * distance) ** 3;
  };
  return fill([circle(x, y, radius)], ink);
}

/** A shape in one colour, or in that of an ink. */
export function fill(outline: Outline, ink: Rgb | Ink, opacity = 1): Layer {
  const sides = outline.flatMap(sidesOf).sort((one, other) => one.top - other.top);
  const color = new Float32Array(4).fill(opacity);
  if (typeof ink !== "function") color.set(ink);
  const top = Math.floor(sides[0]?.top ?? 0);
  const lowest = sides.reduce((most, { bottom }) => Math.max(most, Math.ceil(bottom)), top);
  let begun = 0;
  let active: Side[] = [];
  return {
    top,
    bottom: lowest,
    paint(row, y) {
      for (let side = sides[begun]; side && side.top < y + 1; side = sides[++begun]) active.push(side);
      active = active.filter(({ bottom }) => bottom > y);
      let [first, last] = [row.width, 0];
      for (const side of active) {
        const [from, to] = [Math.max(side.top, y), Math.min(side.bottom, y + 1)];
        const a = Math.min(row.width, Math.max(0, side.x + (from - side.top) * side.slope));
        const b = Math.min(row.width, Math.max(0, side.x + (to - side.top) * side.slope));
        mark(row.mask, Math.min(a, b), Math.max(a, b), (to - from) * side.turn);
        first = Math.min(first, Math.floor(a), Math.floor(b));
        last = Math.max(last, a, b);
      }
      const shade = typeof ink === "function" ? ink(y, color, (y - top) / (lowest - top)) : null;
      lay(row, first, Math.min(row.width, Math.ceil(last) + 1), color, shade);
    },
  };
}

interface Side {
  readonly top: number;
  readonly bottom: number;
  /** Position at `top`. */
  readonly x: number;
  readonly slope: number;
  /** Which way it winds, 1 or -1. */
  readonly turn: number;
}

/** All contours wind the same way, so that overlapping ones add up instead of cancelling out. */
function sidesOf(contour: readonly Point[]): Side[] {
  const pairs = contour.map((to, i) => [contour.at(i - 1) ?? to, to] as const);
  const area = pairs.reduce((sum, [[fromX, fromY], [toX, toY]]) => sum + fromX * toY - toX * fromY, 0);
  return pairs.flatMap(([from, to]): Side[] => {
    const isDown = from[1] < to[1];
    const [[x, top], [endX, bottom]] = isDown ? [from, to] : [to, from];
    const slope = (endX - x) / (bottom - top);
    return top === bottom ? [] : [{ top, bottom, x, slope, turn: isDown === area < 0 ? 1 : -1 }];
  });
}

/**
 * Adds one side, of this height within a row, to the mask: a running sum over the mask is the share of each pixel
 * that the shape covers (its sign does not matter). Exact areas, hence smooth edges at any size.
 */
function mark(mask: Float32Array, left: number, right: number, height: number): void {
  const end = Math.max(Math.floor(left) + 1, Math.ceil(right));
  let done = 0;
  for (let x = Math.floor(left); x < end; x++) {
    // The area between the side and the right edge of pixel x, by the trapezoid rule.
    const [enter, leave] = [Math.max(left, x), Math.min(right, x + 1)];
    const area = leave - left - (leave - enter) * ((leave + enter) / 2 - x);
    const share = height * (left === right ? x + 1 - left : area / (right - left)) - done;
    mask[x] = (mask[x] as number) + share;
    done += share;
  }
  mask[end] = (mask[end] as number) + height - done;
}

/** Lays the colour over the pixels that the mask covers, and clears the mask. */
function lay(
  { pixels, mask, width }: Row,
  first: number,
  end: number,
  color: Float32Array,
  shade: ReturnType<Ink>,
): void {
  let sum = 0;
  for (let x = first, at = first * 3; x < end; x++, at += 3) {
    sum += mask[x] as number;
    mask[x] = 0;
    const covered = Math.min(1, Math.abs(sum));
    if (covered < 0.004) continue;
    if (shade !== null) shade(x);
    const share = covered * (color[3] as number);
    // Not `[red, green, blue]`: for every pixel, that would cost more than all else here.
    for (let c = 0; c < 3; c++) {
      const below = pixels[at + c] as number;
      pixels[at + c] = below + ((color[c] as number) - below) * share;
    }
  }
  // What lies right of the frame is marked past the last pixel, where it is never read.
  mask.fill(0, width);
}
