import { dataEnd } from "./avif-extents.ts";
import { type Box, boxes, firstBox } from "./boxes.ts";
import type { ByteWindow } from "./byte-window.ts";
import { EXTENSIONS } from "./extensions.ts";
import { cutShort, damaged, type ImageFormat, type Size, type Verdict, whole } from "./format.ts";

const HEADER_BYTES = 8;
const BRANDS = new Set(["avif", "avis"]);
const NO_SIZE: Size = { width: 0, height: 0 };

export const avif: ImageFormat = {
  type: "avif",
  name: "AVIF",
  mediaType: "image/avif",
  extension: EXTENSIONS.avif[0],
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

/**
 * Complete means: boxes up to the file's exact end, one of them the description, and all the data that it refers to.
 * The last condition finds a cut between two boxes.
 */
async function examine(file: ByteWindow): Promise<Verdict> {
  const first = new Map<string, Box>();
  let at = 0;
  for await (const box of boxes(file, 0, file.size)) {
    at = box.end;
    if (!first.has(box.type)) first.set(box.type, box);
  }
  if (at > file.size) return cutShort(at);
  if (at < file.size) return file.size - at < HEADER_BYTES ? cutShort(at + HEADER_BYTES) : damaged(at);

  const meta = first.get("meta");
  if (meta === undefined) return first.has("moov") && first.has("mdat") ? whole(NO_SIZE) : lacksBox(file);
  const needs = await dataEnd(file, meta);
  if (needs > file.size) return cutShort(needs);
  const hasData = first.has("mdat") || (await contents(file, meta, "idat")) !== null;
  return hasData ? whole(await largestSize(file, meta)) : lacksBox(file);
}

function lacksBox(file: ByteWindow): Verdict {
  return cutShort(file.size + HEADER_BYTES);
}

/** `meta` has four bytes of version and flags before the boxes within it. */
function contents(file: ByteWindow, meta: Box, type: string): Promise<Box | null> {
  return firstBox(file, meta.body + 4, meta.end, type);
}

/** Tiles and thumbnails have sizes of their own, smaller than the image's. 0 × 0 if none is given. */
async function largestSize(file: ByteWindow, meta: Box): Promise<Size> {
  const properties = await contents(file, meta, "iprp");
  const list = properties && (await firstBox(file, properties.body, properties.end, "ipco"));
  let largest = NO_SIZE;
  if (list === null) return largest;
  for await (const box of boxes(file, list.body, list.end)) {
    const sides = box.type === "ispe" && box.end <= list.end ? await file.bytes(box.body + 4, 8) : null;
    if (sides === null) continue;
    const size = { width: sides.readUInt32BE(0), height: sides.readUInt32BE(4) };
    if (size.width * size.height > largest.width * largest.height) largest = size;
  }
  return largest;
}
