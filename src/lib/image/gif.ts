import {
  type ByteWindow,
  cutShort,
  damaged,
  type ImageFormat,
  MAX_PARTS,
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

/** Complete: at least one image, and every block within the file up to the trailer. */
function examine(file: ByteWindow): Verdict {
  const screen = file.bytes(0, SCREEN_BYTES);
  if (screen === null) return cutShort(SCREEN_BYTES + PICTURE_BYTES);
  const size = { width: screen.readUInt16LE(6), height: screen.readUInt16LE(8) };

  let at = SCREEN_BYTES + colourTableBytes(screen[10]);
  let hasPicture = false;
  for (let parts = 0; parts < MAX_PARTS; parts += 1) {
    const block = file.bytes(at, 1)?.[0];
    if (block === undefined) return cutShort(at + 1);
    if (block === TRAILER) return hasPicture ? whole(size) : damaged(at);
    if (block !== PICTURE && block !== EXTENSION) return damaged(at);
    if (block === PICTURE) {
      // An image descriptor, its local colour table, and one byte of code size.
      at += PICTURE_BYTES + colourTableBytes(file.bytes(at, PICTURE_BYTES)?.[9]) + 1;
      hasPicture = true;
    } else at += 2;
    // Data is in blocks of up to 255 bytes, each after its length; an empty one is the last.
    for (let length = -1; length !== 0 && parts < MAX_PARTS; at += 1 + length, parts += 1) {
      length = file.bytes(at, 1)?.[0] ?? -1;
      if (length === -1) return cutShort(file.size + 1);
    }
  }
  return damaged(at);
}

/** Three bytes for each of 2 to 256 colours; the highest bit of the flags says whether there is a table. */
function colourTableBytes(flags = 0): number {
  return flags & 0x80 ? 3 * 2 ** ((flags & 0x07) + 1) : 0;
}
