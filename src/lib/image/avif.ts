import {
  type ByteWindow,
  cutShort,
  damaged,
  type ImageFormat,
  MAX_PARTS,
  type Size,
  type Verdict,
  whole,
} from "./format.ts";

const HEADER_BYTES = 8;
/** A real image's metadata has some hundred bytes. */
const MAX_META_BYTES = 1024 * 1024;
const BRANDS = new Set(["avif", "avis"]);

export const avif: ImageFormat = {
  type: "avif",
  name: "AVIF",
  begins: hasBrand,
  examine,
};

/** The first box lists a major brand, a version number and the compatible brands. */
function hasBrand(head: Buffer): boolean {
  if (head.length < 12 || head.toString("latin1", 4, 8) !== "ftyp") return false;
  const end = Math.min(head.readUInt32BE(0), head.length);
  for (let at = 8; at + 4 <= end; at += 4) {
    if (at !== 12 && BRANDS.has(head.toString("latin1", at, at + 4))) return true;
  }
  return false;
}

/**
 * Complete: boxes (the unit of the ISO base media format) up to the exact end of the file, including metadata and
 * image data.
 */
function examine(file: ByteWindow): Verdict {
  const types = new Set<string>();
  let meta: Buffer = Buffer.alloc(0);
  let end = 0;
  for (let parts = 0; end < file.size && parts < MAX_PARTS; parts += 1) {
    const box = readBox(file, end);
    if (box === null) return file.size - end < HEADER_BYTES ? cutShort(end + HEADER_BYTES) : damaged(end);
    if (box.end > file.size) return cutShort(box.end);
    if (box.type === "meta") meta = file.bytes(end, Math.min(box.end - end, MAX_META_BYTES)) ?? meta;
    types.add(box.type);
    end = box.end;
  }
  const isWhole = types.has("mdat") ? types.has("meta") || types.has("moov") : meta.includes("idat");
  return isWhole ? whole(largestSize(meta), orientationIn(meta)) : cutShort(file.size + HEADER_BYTES);
}

/** null: incomplete header, or invalid length or type. */
function readBox(file: ByteWindow, start: number): { type: string; end: number } | null {
  const header = file.bytes(start, HEADER_BYTES);
  if (header === null) return null;
  const type = header.toString("latin1", 4);
  const length = header.readUInt32BE(0);
  // Length 1: a 64-bit length follows the type. Length 0: up to the end of the file, only for the last box.
  const long = length === 1 ? file.bytes(start + HEADER_BYTES, 8) : null;
  if (length === 1 && long === null) return null;
  const end = length === 0 ? file.size : start + Number(long?.readBigUInt64BE() ?? length);
  return end < start + HEADER_BYTES || !/^[ -~]{4}$/.test(type) ? null : { type, end };
}

/** The largest size, because tiles and thumbnails have smaller ones. 0 × 0 if there is none. */
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
function orientationIn(meta: Buffer): number {
  const at = meta.indexOf("irot");
  const quarters = at === -1 ? 0 : (meta[at + 4] ?? 0) & 3;
  return [1, 8, 3, 6][quarters] ?? 1;
}
