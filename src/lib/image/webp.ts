import { readOrientation } from "./exif.ts";
import {
  type ByteWindow,
  completeVerdict,
  damagedVerdict,
  type ImageFormat,
  MAX_PARTS,
  type Size,
  sharesStart,
  truncatedVerdict,
  type Verdict,
} from "./format.ts";

const RIFF = Buffer.from("RIFF", "latin1");
const WEBP = Buffer.from("WEBP", "latin1");
const FILE_HEADER_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;
/** Types of chunks with pixels: lossy, lossless, frame of an animation. */
const PIXEL_CHUNKS = new Set(["VP8 ", "VP8L", "ANMF"]);

export const webp: ImageFormat = {
  type: "webp",
  name: "WebP",
  begins: (head) => sharesStart(head, RIFF) && (head.length <= 8 || sharesStart(head.subarray(8), WEBP)),
  examine,
};

/** Requires pixels, and at least as many bytes as the header states. Further bytes are ignored. */
function examine(file: ByteWindow): Verdict {
  const header = file.bytes(0, FILE_HEADER_BYTES);
  if (header === null) return truncatedVerdict(FILE_HEADER_BYTES + CHUNK_HEADER_BYTES);
  const end = 8 + header.readUInt32LE(4);
  if (end > file.size) return truncatedVerdict(end);

  // Reads up to ten bytes of the first chunk, which is shorter in the smallest real files.
  const firstBytes = Math.min(CHUNK_HEADER_BYTES + 10, end - FILE_HEADER_BYTES);
  const first = firstBytes < CHUNK_HEADER_BYTES ? null : file.bytes(FILE_HEADER_BYTES, firstBytes);
  const size = first === null ? null : canvasSize(first);
  if (size === null) return damagedVerdict(FILE_HEADER_BYTES);
  const orientation = findOrientation(file, end);
  return orientation === null ? damagedVerdict(end) : completeVerdict(size, orientation);
}

function canvasSize(chunk: Buffer): Size | null {
  const body = chunk.subarray(CHUNK_HEADER_BYTES);
  switch (chunk.toString("latin1", 0, 4)) {
    case "VP8 ":
      return lossySize(body);
    case "VP8L":
      return losslessSize(body);
    case "VP8X":
      return extendedSize(body);
    default:
      return null;
  }
}

/** The chunk begins with a three-byte tag, a start code, and for each side 14 bits of size and 2 bits of scaling. */
function lossySize(body: Buffer): Size | null {
  if (body.length < 10 || body.readUIntBE(3, 3) !== 0x9d012a) return null;
  return { width: body.readUInt16LE(6) & 0x3fff, height: body.readUInt16LE(8) & 0x3fff };
}

/** The chunk begins with a signature byte, and 14 bits for each side minus one. */
function losslessSize(body: Buffer): Size | null {
  if (body.length < 5 || body[0] !== 0x2f) return null;
  const bits = body.readUInt32LE(1);
  return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
}

/** The chunk begins with four bytes of flags, and 24 bits for each side minus one. */
function extendedSize(body: Buffer): Size | null {
  if (body.length < 10) return null;
  return { width: 1 + body.readUIntLE(4, 3), height: 1 + body.readUIntLE(7, 3) };
}

/** Returns the orientation from the Exif data after the pixels, or the default of 1; null if the file has no pixels. */
function findOrientation(file: ByteWindow, end: number): number | null {
  let hasPixels = false;
  for (let at = FILE_HEADER_BYTES, parts = 0; at + CHUNK_HEADER_BYTES <= end && parts < MAX_PARTS; parts++) {
    const chunk = file.bytes(at, CHUNK_HEADER_BYTES);
    if (chunk === null) break;
    const type = chunk.toString("latin1", 0, 4);
    const length = chunk.readUInt32LE(4);
    const dataEnd = at + CHUNK_HEADER_BYTES + length;
    if (dataEnd > end) break;
    if (PIXEL_CHUNKS.has(type) && !hasPixels && length === 0) break;
    hasPixels ||= PIXEL_CHUNKS.has(type);
    if (type === "EXIF" && hasPixels) return orientationAt(file, at + CHUNK_HEADER_BYTES, length);
    // A padding byte follows a chunk of odd length.
    at = dataEnd + (length % 2);
  }
  return hasPixels ? 1 : null;
}

const MAX_EXIF_BYTES = 65_535;

function orientationAt(file: ByteWindow, at: number, length: number): number {
  return readOrientation(file.bytes(at, Math.min(length, MAX_EXIF_BYTES)) ?? Buffer.alloc(0));
}
