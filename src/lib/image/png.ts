import { crc32 } from "node:zlib";
import { readOrientation } from "./exif.ts";
import {
  type ByteWindow,
  completeVerdict,
  damagedVerdict,
  type ImageFormat,
  type Size,
  sharesStart,
  truncatedVerdict,
  type Verdict,
} from "./format.ts";
import { canCountRows, hasAllRows, type PngHeader } from "./png-rows.ts";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
/** Size of length and type, which precede the data of a chunk. A checksum follows the data. */
const HEAD_BYTES = 8;
const CHECKSUM_BYTES = 4;
const TYPE_BYTES = 4;
const FRAME_BYTES = HEAD_BYTES + CHECKSUM_BYTES;
const HEADER_CHUNK_BYTES = FRAME_BYTES + 13;
const MIN_BYTES = SIGNATURE.length + HEADER_CHUNK_BYTES + 2 * FRAME_BYTES;
/** The format's limit for the length of a chunk and for width and height. */
const MAX_LENGTH = 0x7fff_ffff;
/** Maximum number of chunks, more than any real file has. A hostile file could have millions. */
const MAX_CHUNKS = 200_000;
const MAX_EXIF_BYTES = 65_535;

export const png: ImageFormat = {
  type: "png",
  name: "PNG",
  begins: (head) => sharesStart(head, SIGNATURE),
  examine,
};

/** Requires IHDR first, all rows in IDAT, and valid checksums up to IEND. Bytes after IEND are ignored. */
function examine(file: ByteWindow): Verdict {
  const header = file.bytes(SIGNATURE.length, HEADER_CHUNK_BYTES);
  if (header === null) return truncatedVerdict(MIN_BYTES);
  const size = parseHeader(header);
  if (size === null) return damagedVerdict(SIGNATURE.length);

  let at = SIGNATURE.length + HEADER_CHUNK_BYTES;
  let orientation = 1;
  const pixels: Buffer[] = [];
  const isCounted = canCountRows(size);
  let hasPixels = false;
  for (let chunks = 0; chunks < MAX_CHUNKS; chunks += 1) {
    const head = file.bytes(at, HEAD_BYTES);
    if (head === null) return truncatedVerdict(at + FRAME_BYTES);
    const length = head.readUInt32BE(0);
    const type = head.toString("latin1", 4);
    if (length > MAX_LENGTH || !/^[A-Za-z]{4}$/.test(type)) return damagedVerdict(at);

    const end = at + FRAME_BYTES + length;
    if (end > file.size) return truncatedVerdict(type === "IEND" ? end : end + FRAME_BYTES);
    const isPixels = type === "IDAT" && length > 0;
    const data = isPixels && isCounted ? pixels : null;
    if (!matchesChecksum(file, at + 4, end - CHECKSUM_BYTES, data)) return damagedVerdict(at);
    if (type === "eXIf" && length <= MAX_EXIF_BYTES)
      orientation = readOrientation(file.bytes(at + HEAD_BYTES, length) ?? Buffer.alloc(0));
    hasPixels ||= isPixels;
    if (type === "IEND")
      return hasPixels && hasAllRows(size, pixels)
        ? completeVerdict(pickSize(size), orientation)
        : damagedVerdict(at);
    at = end;
  }
  return damagedVerdict(at);
}

function pickSize({ width, height }: Size): Size {
  return { width, height };
}

function matchesChecksum(file: ByteWindow, from: number, to: number, data: Buffer[] | null): boolean {
  let checksum = 0;
  for (let at = from; at < to; ) {
    const bytes = file.from(at, 1)?.subarray(0, to - at);
    if (bytes === undefined) return false;
    checksum = crc32(bytes, checksum);
    data?.push(Buffer.from(bytes.subarray(Math.max(0, from + TYPE_BYTES - at))));
    at += bytes.length;
  }
  return file.bytes(to, CHECKSUM_BYTES)?.readUInt32BE() === checksum;
}

function parseHeader(chunk: Buffer): PngHeader | null {
  if (chunk.readUInt32BE(0) !== 13 || chunk.toString("latin1", 4, 8) !== "IHDR") return null;
  const width = chunk.readUInt32BE(8);
  const height = chunk.readUInt32BE(12);
  if (width < 1 || width > MAX_LENGTH || height < 1 || height > MAX_LENGTH) return null;
  const header = {
    width,
    height,
    bitDepth: chunk[16] ?? 0,
    colorType: chunk[17] ?? 0,
    isInterlaced: chunk[20] === 1,
  };
  return crc32(chunk.subarray(4, 21)) === chunk.readUInt32BE(21) ? header : null;
}
