import { crc32 } from "node:zlib";
import type { ByteWindow } from "./byte-window.ts";
import {
  cutShort,
  damaged,
  type ImageFormat,
  type Size,
  sharesStart,
  type Verdict,
  whole,
} from "./format.ts";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
/** Length and type before a chunk's data, a checksum after it. */
const FRAME_BYTES = 12;
const HEADER_CHUNK_BYTES = FRAME_BYTES + 13;
/** The format's own limit, for the length of a chunk as for a side of the image. */
const LARGEST = 0x7fff_ffff;

export const png: ImageFormat = {
  type: "png",
  name: "PNG",
  mediaType: "image/png",
  extension: "png",
  begins: (head) => sharesStart(head, SIGNATURE),
  examine,
};

/** Whole means: IHDR first, some IDAT, and every chunk within the file up to IEND. What follows IEND is ignored. */
async function examine(file: ByteWindow): Promise<Verdict> {
  let at = SIGNATURE.length + HEADER_CHUNK_BYTES;
  const header = await file.bytes(SIGNATURE.length, HEADER_CHUNK_BYTES);
  if (header === null) return cutShort(at + 2 * FRAME_BYTES);
  const size = readHeader(header);
  if (size === null) return damaged(SIGNATURE.length);

  for (let hasPixels = false; ; ) {
    const chunk = file.loaded(at, 8) ?? (await file.from(at, 8));
    if (chunk === null) return cutShort(at + FRAME_BYTES);
    const length = chunk.readUInt32BE(0);
    const type = chunk.toString("latin1", 4, 8);
    if (length > LARGEST || !/^[A-Za-z]{4}$/.test(type)) return damaged(at);

    const isLast = type === "IEND";
    const end = at + FRAME_BYTES + length;
    if (end > file.size) return cutShort(isLast ? end : end + FRAME_BYTES);
    if (isLast) return hasPixels ? whole(size) : damaged(at);
    hasPixels ||= type === "IDAT";
    at = end;
  }
}

/**
 * The only checksum that is verified is this chunk's, since the size is reported from it: a sum over all pixels
 * would read the whole file, and viewers differ in whether they care.
 */
function readHeader(chunk: Buffer): Size | null {
  if (chunk.readUInt32BE(0) !== 13 || chunk.toString("latin1", 4, 8) !== "IHDR") return null;
  const width = chunk.readUInt32BE(8);
  const height = chunk.readUInt32BE(12);
  if (width < 1 || width > LARGEST || height < 1 || height > LARGEST) return null;
  return crc32(chunk.subarray(4, 21)) === chunk.readUInt32BE(21) ? { width, height } : null;
}
