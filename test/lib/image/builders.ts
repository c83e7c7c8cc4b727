import { crc32, deflateSync } from "node:zlib";
import { inspectBytes } from "../../../src/lib/image/inspect.ts";

/** One grey byte a pixel, in IDAT chunks of at most `chunkBytes`. */
export function buildPng(width: number, height: number, chunkBytes = Number.POSITIVE_INFINITY): Buffer {
  const pixels = greyPixels(width, height);
  const chunks = [pngSignature, pngHeader(width, height)];
  for (let at = 0; at < pixels.length; at += chunkBytes) {
    chunks.push(pngChunk("IDAT", pixels.subarray(at, Math.min(at + chunkBytes, pixels.length))));
  }
  return Buffer.concat([...chunks, pngChunk("IEND")]);
}

const compressed = new Map<string, Buffer>();

/** Compressed once for each size, which is what takes long. */
function greyPixels(width: number, height: number): Buffer {
  const size = `${width}x${height}`;
  const known = compressed.get(size);
  if (known !== undefined) return known;
  const rows = Buffer.alloc((width + 1) * height, 0x55);
  for (let row = 0; row < height; row += 1) rows[row * (width + 1)] = 0;
  const pixels = deflateSync(rows);
  compressed.set(size, pixels);
  return pixels;
}

export const pngSignature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

export function pngHeader(width: number, height: number, bitsPerPixel = 8): Buffer {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, bitsPerPixel, 0, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  return pngChunk("IHDR", header);
}

export function pngChunk(type: string, data: Uint8Array = new Uint8Array()): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  return Buffer.concat([uint32(data.length), body, uint32(crc32(body))]);
}

/** A box of the ISO base media format. */
export function box(type: string, ...contents: Uint8Array[]): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), ...contents]);
  return Buffer.concat([uint32(body.length + 4), body]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Inspects bytes in memory, as if they were a file. */
export function inspect(bytes: Uint8Array) {
  return inspectBytes(Buffer.from(bytes));
}

/** The lengths at which the beginning of `bytes` passes for an image. Only the whole should. */
export function acceptedLengths(bytes: Uint8Array): number[] {
  const accepted: number[] = [];
  for (let length = 0; length <= bytes.length; length += 1) {
    if (inspect(bytes.subarray(0, length)).ok) accepted.push(length);
  }
  return accepted;
}
