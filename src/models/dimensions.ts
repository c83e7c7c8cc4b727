import { greatestCommonDivisor } from "../lib/whole-number.ts";

const SIDE_PX = 1024;

const FACTORS: ReadonlyMap<string, number> = new Map([
  ["basic", 1],
  ["1K", 1],
  ["high", 2],
  ["2K", 2],
  ["4K", 4],
]);

/** Width and height are multiples of this number of pixels, because most generators require such sizes. */
const BLOCK = 8;

/** Returns a size of exactly this ratio (section 2.5): 21:9 at 1K is 1008x432. Defaults: square and 1K. */
export function pictureDimensions(
  ratio: string | undefined,
  quality: string | undefined,
  sidePx = SIDE_PX,
): { width: number; height: number } {
  const blocks = Math.max(1, Math.floor((sidePx * (FACTORS.get(quality ?? "1K") ?? 1)) / BLOCK));
  const [across, down] = reducedRatio(ratio);
  const wholeScale = Math.floor(blocks / Math.max(across, down));
  const scale = wholeScale > 0 ? wholeScale : blocks / Math.max(across, down);
  const side = (share: number) => Math.max(1, Math.round(share * scale)) * BLOCK;
  return { width: side(across), height: side(down) };
}

export function dimensionsLike(
  shape: { width: number; height: number },
  longestPx: number,
): { width: number; height: number } {
  const scale = longestPx / Math.max(shape.width, shape.height);
  const side = (px: number) => Math.max(1, Math.round((px * scale) / BLOCK)) * BLOCK;
  return { width: side(shape.width), height: side(shape.height) };
}

function reducedRatio(ratio: string | undefined): [number, number] {
  const [, widthText, heightText] = /^(\d{1,9}):(\d{1,9})$/.exec(ratio ?? "") ?? [];
  const [across, down] = [Number(widthText ?? 0), Number(heightText ?? 0)];
  if (across === 0 || down === 0) return [1, 1];
  const divisor = greatestCommonDivisor(across, down);
  return [across / divisor, down / divisor];
}
