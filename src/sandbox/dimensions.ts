import { greatestCommonDivisor } from "../lib/whole-number.ts";

const LONG_SIDES: ReadonlyMap<string, number> = new Map([
  ["basic", 1024],
  ["1K", 1024],
  ["high", 2048],
  ["2K", 2048],
  ["4K", 4096],
]);

/** Both sides are multiples of this, as those of most generators are. */
const BLOCK = 8;

/**
 * The size, in pixels, of a picture asked for by `ratio` and `quality` (service's document, section 2.5). The
 * ratio is exact: 21:9 at 1K is 1008x432, not 1024x439. Whatever is not `w:h` is square, and an unknown quality
 * is 1K. Only a ratio too extreme for the long side is rounded, to at least one block.
 */
export function pictureDimensions(
  ratio: string | undefined,
  quality: string | undefined,
): { width: number; height: number } {
  const blocks = (LONG_SIDES.get(quality ?? "1K") ?? 1024) / BLOCK;
  const [across, down] = reducedRatio(ratio);
  const whole = Math.floor(blocks / Math.max(across, down));
  const scale = whole > 0 ? whole : blocks / Math.max(across, down);
  const side = (share: number) => Math.max(1, Math.round(share * scale)) * BLOCK;
  return { width: side(across), height: side(down) };
}

function reducedRatio(ratio: string | undefined): [number, number] {
  const [, left, right] = /^(\d{1,9}):(\d{1,9})$/.exec(ratio ?? "") ?? [];
  const [across, down] = [Number(left ?? 0), Number(right ?? 0)];
  if (across === 0 || down === 0) return [1, 1];
  const divisor = greatestCommonDivisor(across, down);
  return [across / divisor, down / divisor];
}
