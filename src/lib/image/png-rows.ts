import { inflateSync } from "node:zlib";
import { errorCode } from "../error-text.ts";
import type { Size } from "./format.ts";

/** The header fields that determine the number of bytes in the rows. */
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

/** Larger images, far above the output of any model, are not decompressed. */
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

/** Whether the image is small enough to count its rows. */
export function areRowsCounted(header: PngHeader): boolean {
  const expectedBytes = rowBytes(header);
  return expectedBytes !== null && expectedBytes <= MAX_BYTES;
}

/**
 * Whether the compressed pixels have as many bytes as the header promises: a server out of time may end an image
 * early, with every checksum correct. Invalid compressed data is left to the decoder.
 * @param pixels the data of its IDAT chunks, in order
 */
export function hasAllRows(header: PngHeader, pixels: readonly Buffer[]): boolean {
  const expectedBytes = rowBytes(header);
  if (expectedBytes === null || expectedBytes > MAX_BYTES) return true;
  try {
    return inflateSync(Buffer.concat(pixels), { maxOutputLength: expectedBytes }).length >= expectedBytes;
  } catch (error) {
    // `Z_BUF_ERROR`: the compressed data is cut short. Other errors do not mean that, or the image has extra rows.
    return errorCode(error) !== "Z_BUF_ERROR";
  }
}

/** Bytes of all rows, including the filter byte of each; null for an invalid header. */
function rowBytes({ width, height, bitDepth, colorType, isInterlaced }: PngHeader): number | null {
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
