import type { Row } from "./layer.ts";
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

const SIDE = 5;
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

/**
 * Notes in `row.mask` how much each pixel of row `y` is covered by the shape: a running sum over the mask
 * is the covered share (its sign does not matter). Exact areas, hence smooth edges at any size.
 * `row.marked` says which pixels to read; the reader of the mask sets it back to zero.
 */
export function markCoverage(edges: Edges, row: Row, y: number): void {
  const { sides } = edges;
  let first = row.width;
  let last = 0;
  for (const index of edges.near(y)) {
    const at = index * SIDE;
    const upperY = sides[at + 1] as number;
    const from = Math.max(upperY, y);
    const to = Math.min(sides[at + 2] as number, y + 1);
    if (from >= to) continue;
    const slope = sides[at + 3] as number;
    const a = within(row, (sides[at] as number) + (from - upperY) * slope);
    const b = within(row, (sides[at] as number) + (to - upperY) * slope);
    markSide(row.mask, Math.min(a, b), Math.max(a, b), (to - from) * (sides[at + 4] as number));
    first = Math.min(first, Math.floor(a), Math.floor(b));
    last = Math.max(last, a, b);
  }
  row.marked.from = first;
  row.marked.to = Math.min(row.width, Math.ceil(last) + 1);
}

function within(row: Row, x: number): number {
  return Math.min(Math.max(x, 0), row.width);
}

/** Spreads the height of one side over the pixels it crosses, each by the area right of the side. */
function markSide(mask: Float32Array, left: number, right: number, height: number): void {
  const first = Math.floor(left);
  const end = Math.ceil(right);
  if (end <= first + 1) {
    const share = (left + right) / 2 - first;
    add(mask, first, height * (1 - share));
    add(mask, first + 1, height * share);
    return;
  }
  const density = height / (right - left);
  let done = 0;
  for (let x = first; x < end; x++) {
    // The area between the side and the right edge of pixel x, by the trapezoid rule.
    const enter = Math.max(left, x);
    const leave = Math.min(right, x + 1);
    const sum = density * (leave - left) - density * (leave - enter) * ((leave + enter) / 2 - x) - done;
    add(mask, x, sum);
    done += sum;
  }
  add(mask, end, height - done);
}

function add(mask: Float32Array, index: number, amount: number): void {
  mask[index] = (mask[index] as number) + amount;
}
