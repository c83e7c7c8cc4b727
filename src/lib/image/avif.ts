import {
  type ByteWindow,
  completeVerdict,
  damagedVerdict,
  type ImageFormat,
  MAX_PARTS,
  type Size,
  truncatedVerdict,
  type Verdict,
} from "./format.ts";

const HEADER_BYTES = 8;
const MAX_META_BYTES = 1024 * 1024;
const BRANDS = new Set(["avif", "avis"]);

export const avif: ImageFormat = {
  type: "avif",
  name: "AVIF",
  begins: hasBrand,
  examine,
};

/** Reads the first box, which lists a major brand, a version number and the compatible brands. */
function hasBrand(head: Buffer): boolean {
  if (head.length < 12 || head.toString("latin1", 4, 8) !== "ftyp") return false;
  const end = Math.min(head.readUInt32BE(0), head.length);
  for (let at = 8; at + 4 <= end; at += 4) {
    if (at !== 12 && BRANDS.has(head.toString("latin1", at, at + 4))) return true;
  }
  return false;
}

/** Requires boxes (ISO base media format) that fill the file exactly and include metadata and image data. */
function examine(file: ByteWindow): Verdict {
  const types = new Set<string>();
  let meta: Buffer = Buffer.alloc(0);
  let end = 0;
  for (let parts = 0; end < file.size && parts < MAX_PARTS; parts += 1) {
    const box = readBox(file, end);
    if (box === null)
      return file.size - end < HEADER_BYTES ? truncatedVerdict(end + HEADER_BYTES) : damagedVerdict(end);
    if (box.end > file.size) return truncatedVerdict(box.end);
    if (box.type === "meta") meta = file.bytes(end, Math.min(box.end - end, MAX_META_BYTES)) ?? meta;
    types.add(box.type);
    end = box.end;
  }
  const isComplete = types.has("mdat") ? types.has("meta") || types.has("moov") : meta.includes("idat");
  return isComplete
    ? completeVerdict(largestSize(meta), readRotation(meta))
    : truncatedVerdict(file.size + HEADER_BYTES);
}

function readBox(file: ByteWindow, start: number): { type: string; end: number } | null {
  const header = file.bytes(start, HEADER_BYTES);
  if (header === null) return null;
  const type = header.toString("latin1", 4);
  const length = header.readUInt32BE(0);
  // A length of 1 means that a 64-bit length follows the type. A length of 0 means that the box ends with the file.
  const long = length === 1 ? file.bytes(start + HEADER_BYTES, 8) : null;
  if (length === 1 && long === null) return null;
  const end = length === 0 ? file.size : start + Number(long?.readBigUInt64BE() ?? length);
  return end < start + HEADER_BYTES || !/^[ -~]{4}$/.test(type) ? null : { type, end };
}

/** Returns the largest size in the metadata, because tiles and thumbnails have smaller sizes; 0 × 0 if unknown. */
function largestSize(meta: Buffer): Size {
  let largest: Size = { width: 0, height: 0 };
  for (
    let at = meta.indexOf("ispe");
    at !== -1 && at + 16 <= meta.length;
    at = meta.indexOf("ispe", at + 4)
  ) {
    const size = { width: meta.readUInt32BE(at + 8), height: meta.readUInt32BE(at + 12) };
    if (size.width * size.height > largest.width * largest.height) largest = size;
  }
  return largest;
}

/** Converts the rotation property (multiples of 90° anticlockwise) to an Exif orientation. */
function readRotation(meta: Buffer): number {
  const at = meta.indexOf("irot");
  const quarters = at === -1 ? 0 : (meta[at + 4] ?? 0) & 3;
  return [1, 8, 3, 6][quarters] ?? 1;
}
