import { greatestCommonDivisor } from "../lib/whole-number.ts";

/** The longest side for 1K, in pixels. */
const SIDE_PX = 1024;

/** Factors of the longest side for 1K. */
const FACTORS: ReadonlyMap<string, number> = new Map([
  ["basic", 1],
  ["1K", 1],
  ["high", 2],
  ["2K", 2],
  ["4K", 4],
]);

/** Both sides are multiples of this: most generators require it. */
const BLOCK = 8;

/**
 * The size, in pixels, for a `ratio` and `quality` (section 2.5 of the service's document). The ratio is exact: 21:9
 * at 1K is 1008x432, not 1024x439; only an extreme ratio is rounded, to at least one block. A ratio of another form
 * is square, and an unknown quality is 1K.
 * @param sidePx the longest side for 1K
 */
export function pictureDimensions(
  ratio: string | undefined,
  quality: string | undefined,
  sidePx = SIDE_PX,
): { width: number; height: number } {
  const blocks = Math.max(1, Math.floor((sidePx * (FACTORS.get(quality ?? "1K") ?? 1)) / BLOCK));
  const [across, down] = reducedRatio(ratio);
  const whole = Math.floor(blocks / Math.max(across, down));
  const scale = whole > 0 ? whole : blocks / Math.max(across, down);
  const side = (share: number) => Math.max(1, Math.round(share * scale)) * BLOCK;
  return { width: side(across), height: side(down) };
}

/** The size, in pixels, of an image in the shape of another. @param longestPx its longest side */
export function dimensionsLike(
  shape: { width: number; height: number },
  longestPx: number,
): { width: number; height: number } {
  const scale = longestPx / Math.max(shape.width, shape.height);
  const side = (px: number) => Math.max(1, Math.round((px * scale) / BLOCK)) * BLOCK;
  return { width: side(shape.width), height: side(shape.height) };
}

function reducedRatio(ratio: string | undefined): [number, number] {
  const [, left, right] = /^(\d{1,9}):(\d{1,9})$/.exec(ratio ?? "") ?? [];
  const [across, down] = [Number(left ?? 0), Number(right ?? 0)];
  if (across === 0 || down === 0) return [1, 1];
  const divisor = greatestCommonDivisor(across, down);
  return [across / divisor, down / divisor];
}
