import {
  type ByteWindow,
  completeVerdict,
  damagedVerdict,
  type ImageFormat,
  MAX_PARTS,
  sharesStart,
  truncatedVerdict,
  type Verdict,
} from "./format.ts";

const VERSIONS = ["GIF87a", "GIF89a"].map((version) => Buffer.from(version, "latin1"));
const SCREEN_BYTES = 13;
const DESCRIPTOR_BYTES = 10;
const EXTENSION = 0x21;
const IMAGE_DESCRIPTOR = 0x2c;
const TRAILER = 0x3b;

export const gif: ImageFormat = {
  type: "gif",
  name: "GIF",
  begins: (head) => VERSIONS.some((version) => sharesStart(head, version)),
  examine,
};

/** Requires at least one image, and a trailer after the blocks. */
function examine(file: ByteWindow): Verdict {
  const screen = file.bytes(0, SCREEN_BYTES);
  if (screen === null) return truncatedVerdict(SCREEN_BYTES + DESCRIPTOR_BYTES);
  const size = { width: screen.readUInt16LE(6), height: screen.readUInt16LE(8) };

  let at = SCREEN_BYTES + colourTableBytes(screen[10]);
  let hasImage = false;
  for (let parts = 0; parts < MAX_PARTS; parts += 1) {
    const block = file.bytes(at, 1)?.[0];
    if (block === undefined) return truncatedVerdict(at + 1);
    if (block === TRAILER) return hasImage ? completeVerdict(size) : damagedVerdict(at);
    if (block !== IMAGE_DESCRIPTOR && block !== EXTENSION) return damagedVerdict(at);
    if (block === IMAGE_DESCRIPTOR) {
      // Skips the image descriptor, its local colour table, and one byte of code size.
      at += DESCRIPTOR_BYTES + colourTableBytes(file.bytes(at, DESCRIPTOR_BYTES)?.[9]) + 1;
      hasImage = true;
    } else at += 2;
    // Skips data blocks of up to 255 bytes. The length precedes each block, and a length of 0 ends the data.
    for (let length = -1; length !== 0 && parts < MAX_PARTS; at += 1 + length, parts += 1) {
      length = file.bytes(at, 1)?.[0] ?? -1;
      if (length === -1) return truncatedVerdict(file.size + 1);
    }
  }
  return damagedVerdict(at);
}

/** The highest bit of `flags` is set if there is a colour table. It has three bytes for each of 2 to 256 colours. */
function colourTableBytes(flags = 0): number {
  return flags & 0x80 ? 3 * 2 ** ((flags & 0x07) + 1) : 0;
}
