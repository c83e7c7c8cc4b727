import { inflateSync } from "node:zlib";
import { errorCode } from "../error-text.ts";
import type { Size } from "./format.ts";

export interface PngHeader extends Size {
  bitDepth: number;
  colorType: number;
  isInterlaced: boolean;
}

/** Samples per pixel by color type: grey, RGB, palette, grey with alpha, RGB with alpha. */
const SAMPLES: ReadonlyMap<number, number> = new Map([
  [0, 1],
  [2, 3],
  [3, 1],
  [4, 2],
  [6, 4],
]);

/** Maximum size of the decompressed pixel data, far above any model's image. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Passes of an interlaced image: first column, first row, step between columns, step between rows. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

export function canCountRows(header: PngHeader): boolean {
  const expectedBytes = rowBytes(header);
  return expectedBytes !== null && expectedBytes <= MAX_BYTES;
}

/** Whether no row is missing, despite valid checksums. True for invalid compressed data, which the decoder reports. */
export function hasAllRows(header: PngHeader, pixels: readonly Buffer[]): boolean {
  const expectedBytes = rowBytes(header);
  if (expectedBytes === null || expectedBytes > MAX_BYTES) return true;
  try {
    return inflateSync(Buffer.concat(pixels), { maxOutputLength: expectedBytes }).length >= expectedBytes;
  } catch (error) {
    // `Z_BUF_ERROR` means that the data is cut short. Other errors mean invalid data or extra rows.
    return errorCode(error) !== "Z_BUF_ERROR";
  }
}

/** Number of bytes of all rows, including the filter byte of each row; null for an invalid header. */
function rowBytes({ width, height, bitDepth, colorType, isInterlaced }: PngHeader): number | null {
  const samples = SAMPLES.get(colorType);
  if (samples === undefined || ![1, 2, 4, 8, 16].includes(bitDepth)) return null;
  const countBytes = (columns: number, count: number) =>
    columns === 0 ? 0 : count * (1 + Math.ceil((columns * samples * bitDepth) / 8));
  if (!isInterlaced) return countBytes(width, height);
  const sizes = PASSES.map(([x, y, stepX, stepY]) =>
    countBytes(Math.max(0, Math.ceil((width - x) / stepX)), Math.max(0, Math.ceil((height - y) / stepY))),
  );
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}
