import {
  type ByteWindow,
  cutShort,
  damaged,
  type ImageFormat,
  MOST_PARTS,
  sharesStart,
  type Verdict,
  whole,
} from "./format.ts";

const VERSIONS = ["GIF87a", "GIF89a"].map((version) => Buffer.from(version, "latin1"));
const SCREEN_BYTES = 13;
const PICTURE_BYTES = 10;
const EXTENSION = 0x21;
const PICTURE = 0x2c;
const TRAILER = 0x3b;

export const gif: ImageFormat = {
  type: "gif",
  name: "GIF",
  begins: (head) => VERSIONS.some((version) => sharesStart(head, version)),
  examine,
};

/** Complete means: at least one image, and every block within the file up to the trailer. */
async function examine(file: ByteWindow): Promise<Verdict> {
  const screen = await file.bytes(0, SCREEN_BYTES);
  if (screen === null) return cutShort(SCREEN_BYTES + PICTURE_BYTES);
  const size = { width: screen.readUInt16LE(6), height: screen.readUInt16LE(8) };

  let at = SCREEN_BYTES + colourTableBytes(screen[10]);
  let hasPicture = false;
  for (let parts = 0; parts < MOST_PARTS; parts += 1) {
    const block = (file.loaded(at, 1) ?? (await file.from(at, 1)))?.[0];
    if (block === undefined) return cutShort(at + 1);
    if (block === TRAILER) return hasPicture ? whole(size) : damaged(at);
    if (block !== PICTURE && block !== EXTENSION) return damaged(at);

    const data = block === PICTURE ? await pictureData(file, at) : at + 2;
    const end = data === null ? null : await skipData(file, data);
    if (end === null) return cutShort(file.size + 1);
    hasPicture ||= block === PICTURE;
    at = end;
  }
  return damaged(at);
}

/** Three bytes for each of 2 to 256 colours; the highest bit of the flags says whether there is a table. */
function colourTableBytes(flags = 0): number {
  return flags & 0x80 ? 3 * 2 ** ((flags & 0x07) + 1) : 0;
}

/** Where an image's data begins: after its descriptor, its colour table and one byte of code size. */
async function pictureData(file: ByteWindow, at: number): Promise<number | null> {
  const descriptor = await file.bytes(at, PICTURE_BYTES);
  return descriptor === null ? null : at + PICTURE_BYTES + colourTableBytes(descriptor[9]) + 1;
}

/** Data is in blocks of up to 255 bytes, each after its length; an empty one is the last. */
async function skipData(file: ByteWindow, from: number): Promise<number | null> {
  for (let at = from; ; ) {
    const window = file.loaded(at, 1) ?? (await file.from(at, 1));
    if (window === null) return null;
    let offset = 0;
    while (offset < window.length) {
      const length = window[offset] as number;
      offset += 1 + length;
      if (length === 0) return at + offset;
    }
    at += offset;
  }
}
