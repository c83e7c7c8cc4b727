const LONG_SIDES: ReadonlyMap<string, number> = new Map([
  ["basic", 1024],
  ["1K", 1024],
  ["high", 2048],
  ["2K", 2048],
  ["4K", 4096],
]);

/**
 * The size, in pixels, of a picture asked for by `ratio` and `quality` (service's document, section 2.5).
 * The ratio is exact: 21:9 at 1K is 1022x438, not 1024x439. Whatever is not `w:h` is square, and an
 * unknown quality is 1K. Only a ratio too extreme for the long side is rounded, to at least one pixel.
 */
export function pictureDimensions(
  ratio: string | undefined,
  quality: string | undefined,
): { width: number; height: number } {
  const limit = LONG_SIDES.get(quality ?? "1K") ?? 1024;
  const [across, down] = reducedRatio(ratio);
  const multiple = Math.floor(limit / Math.max(across, down));
  if (multiple >= 1) return { width: across * multiple, height: down * multiple };
  const scale = limit / Math.max(across, down);
  return { width: Math.max(1, Math.round(across * scale)), height: Math.max(1, Math.round(down * scale)) };
}

function reducedRatio(ratio: string | undefined): [number, number] {
  const [, left, right] = /^(\d{1,9}):(\d{1,9})$/.exec(ratio ?? "") ?? [];
  const across = Number(left ?? 0);
  const down = Number(right ?? 0);
  if (across === 0 || down === 0) return [1, 1];
  const divisor = greatestCommonDivisor(across, down);
  return [across / divisor, down / divisor];
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
