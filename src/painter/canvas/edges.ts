import type { Contour, Outline } from "./outline.ts";

/** The slanted sides of an outline, found by row without looking at the others. */
export interface Edges {
  readonly top: number;
  readonly bottom: number;
  /** Five numbers each: upper x, upper y, lower y, x per y, winding. */
  readonly sides: Float64Array;
  /** Indexes of the sides that may cross row `y`. */
  near(y: number): readonly number[];
}

export const SIDE = 5;
const BUCKET_ROWS = 16;

export function edgesOf(outline: Outline): Edges {
  const list: number[] = [];
  for (const contour of outline) addSides(contour, list);
  const sides = new Float64Array(list);
  const count = sides.length / SIDE;
  let top = Number.POSITIVE_INFINITY;
  let bottom = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i++) {
    top = Math.min(top, Math.floor(sides[i * SIDE + 1] as number));
    bottom = Math.max(bottom, Math.ceil(sides[i * SIDE + 2] as number));
  }
  const buckets = new Map<number, number[]>();
  for (let i = 0; i < count; i++) file(buckets, sides, i);
  const none: readonly number[] = [];
  return { top, bottom, sides, near: (y) => buckets.get(Math.floor(y / BUCKET_ROWS)) ?? none };
}

function file(buckets: Map<number, number[]>, sides: Float64Array, index: number): void {
  const last = Math.floor((sides[index * SIDE + 2] as number) / BUCKET_ROWS);
  for (let b = Math.floor((sides[index * SIDE + 1] as number) / BUCKET_ROWS); b <= last; b++) {
    const bucket = buckets.get(b);
    if (bucket) bucket.push(index);
    else buckets.set(b, [index]);
  }
}

/** All contours wind the same way, so that overlapping ones add up instead of cancelling out. */
function addSides(contour: Contour, into: number[]): void {
  const turn = signedArea(contour) < 0 ? -1 : 1;
  let [fromX, fromY] = contour.at(-1) ?? [0, 0];
  for (const [toX, toY] of contour) {
    const slope = (toX - fromX) / (toY - fromY);
    if (fromY < toY) into.push(fromX, fromY, toY, slope, turn);
    else if (fromY > toY) into.push(toX, toY, fromY, slope, -turn);
    fromX = toX;
    fromY = toY;
  }
}

function signedArea(contour: Contour): number {
  let area = 0;
  let [fromX, fromY] = contour.at(-1) ?? [0, 0];
  for (const [toX, toY] of contour) {
    area += fromX * toY - toX * fromY;
    fromX = toX;
    fromY = toY;
  }
  return area;
}
