import { inflateSync } from "node:zlib";
import { errorCode } from "../error-text.ts";
import type { Size } from "./format.ts";

/** The header of a PNG, as far as it says how many bytes its rows have. */
export interface PngHeader extends Size {
  bitDepth: number;
  colorType: number;
  isInterlaced: boolean;
}

/** Samples of a pixel by color type: grey, RGB, palette, grey with alpha, RGB with alpha. */
const SAMPLES: ReadonlyMap<number, number> = new Map([
  [0, 1],
  [2, 3],
  [3, 1],
  [4, 2],
  [6, 4],
]);

/** Larger images are not decompressed for this: far more than a model makes. */
const MAX_BYTES = 256 * 1024 * 1024;

/** The seven passes of an interlaced image: first column and row, and the steps between them. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/** Whether the rows of an image are counted. */
export function areRowsCounted(header: PngHeader): boolean {
  const needed = bytesOf(header);
  return needed !== null && needed <= MAX_BYTES;
}

/**
 * Whether the compressed pixels of a PNG hold as many bytes as its header says: a server that ran out of time may end an
 * image early, with every checksum correct. What is no compressed data at all is left to the decoder.
 * @param pixels the data of its IDAT chunks, in their order
 */
export function hasAllRows(header: PngHeader, pixels: readonly Buffer[]): boolean {
  const needed = bytesOf(header);
  if (needed === null || needed > MAX_BYTES) return true;
  try {
    return inflateSync(Buffer.concat(pixels), { maxOutputLength: needed }).length >= needed;
  } catch (error) {
    // `Z_BUF_ERROR`: the compressed data is cut short. Any other error is no sign of that, or the image has more rows.
    return errorCode(error) !== "Z_BUF_ERROR";
  }
}

/** Bytes of all rows, with the byte of the filter before each; null for a header that no decoder accepts. */
function bytesOf({ width, height, bitDepth, colorType, isInterlaced }: PngHeader): number | null {
  const samples = SAMPLES.get(colorType);
  if (samples === undefined || ![1, 2, 4, 8, 16].includes(bitDepth)) return null;
  const rows = (columns: number, count: number) =>
    columns === 0 ? 0 : count * (1 + Math.ceil((columns * samples * bitDepth) / 8));
  if (!isInterlaced) return rows(width, height);
  const sizes = PASSES.map(([x, y, stepX, stepY]) =>
    rows(Math.max(0, Math.ceil((width - x) / stepX)), Math.max(0, Math.ceil((height - y) / stepY))),
  );
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}
