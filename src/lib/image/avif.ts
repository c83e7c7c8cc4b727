import {
  type ByteWindow,
  cutShort,
  damaged,
  type ImageFormat,
  type Size,
  type Verdict,
  whole,
} from "./format.ts";

const HEADER_BYTES = 8;
/** Far more than a real file has; a hostile one could contain millions of empty boxes. */
const MOST_BOXES = 65_536;
const BRANDS = new Set(["avif", "avis"]);

/** The unit of the ISO base media format, on which AVIF is built. */
interface Box {
  type: string;
  /** Where its contents begin. */
  body: number;
  /** Where the next box begins. */
  end: number;
}

export const avif: ImageFormat = {
  type: "avif",
  name: "AVIF",
  begins: hasBrand,
  examine,
};

/** The brands of the first box: one major, a version number, and those the file is compatible with. */
function hasBrand(head: Buffer): boolean {
  if (head.length < 12 || head.toString("latin1", 4, 8) !== "ftyp") return false;
  const end = Math.min(head.readUInt32BE(0), head.length);
  for (let at = 8; at + 4 <= end; at += 4) {
    if (at !== 12 && BRANDS.has(head.toString("latin1", at, at + 4))) return true;
  }
  return false;
}

/** Complete means: boxes up to the file's exact end, among them a description of images and their data. */
async function examine(file: ByteWindow): Promise<Verdict> {
  const top = await boxes(file, 0, file.size);
  const end = top.at(-1)?.end ?? 0;
  if (end > file.size) return cutShort(end);
  if (end < file.size) return file.size - end < HEADER_BYTES ? cutShort(end + HEADER_BYTES) : damaged(end);

  const has = (type: string) => top.some((box) => box.type === type);
  // `meta` has four bytes of version and flags before the boxes within it.
  const meta = await within(file, top, "meta", 4);
  const isWhole = has("mdat") ? has("meta") || has("moov") : meta.some(({ type }) => type === "idat");
  return isWhole ? whole(await largestSize(file, meta)) : cutShort(file.size + HEADER_BYTES);
}

/** Tiles and thumbnails have sizes of their own, smaller than the image's. 0 × 0 if none is given. */
async function largestSize(file: ByteWindow, meta: readonly Box[]): Promise<Size> {
  const properties = await within(file, await within(file, meta, "iprp"), "ipco");
  let largest: Size = { width: 0, height: 0 };
  for (const { body } of properties.filter(({ type }) => type === "ispe")) {
    const sides = await file.bytes(body + 4, 8);
    if (sides === null) continue;
    const size = { width: sides.readUInt32BE(0), height: sides.readUInt32BE(4) };
    if (size.width * size.height > largest.width * largest.height) largest = size;
  }
  return largest;
}

/** The boxes within the first box of a type. @param skipped the bytes before them */
async function within(file: ByteWindow, siblings: readonly Box[], type: string, skipped = 0): Promise<Box[]> {
  const box = siblings.find((each) => each.type === type);
  return box === undefined ? [] : boxes(file, box.body + skipped, box.end);
}

/** The boxes from one position to another. One that reaches beyond `to` is the last. */
async function boxes(file: ByteWindow, from: number, to: number): Promise<Box[]> {
  const found: Box[] = [];
  for (let at = from; at < to && found.length < MOST_BOXES; ) {
    const box = await readBox(file, at, to);
    if (box === null) break;
    found.push(box);
    at = box.end;
  }
  return found;
}

/** `null` if there is no room for a header, or if its length or type is invalid. */
async function readBox(file: ByteWindow, start: number, to: number): Promise<Box | null> {
  const header = await file.bytes(start, HEADER_BYTES);
  if (header === null) return null;
  const type = header.toString("latin1", 4, 8);
  const length = header.readUInt32BE(0);
  // Length 1: a longer length follows the type. Length 0: to the end, allowed for the last box only.
  const long = length === 1 ? await file.bytes(start + HEADER_BYTES, 8) : null;
  if (length === 1 && long === null) return null;

  const body = start + HEADER_BYTES + (long?.length ?? 0);
  const end = length === 0 ? to : start + Number(long?.readBigUInt64BE(0) ?? length);
  return end < body || !/^[ -~]{4}$/.test(type) ? null : { type, body, end };
}
