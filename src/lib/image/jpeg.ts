import { EXIF_PREFIX, readOrientation } from "./exif.ts";
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

const SIGNATURE = Buffer.from([0xff, 0xd8, 0xff]);
const TEM = 0x01;
const SOF_FIRST = 0xc0;
const SOF_LAST = 0xcf;
/** Codes in the range of frame headers that have another meaning: DHT, JPG and DAC. */
const NO_FRAME_HEADER = new Set([0xc4, 0xc8, 0xcc]);
const RST_FIRST = 0xd0;
const RST_LAST = 0xd7;
const SOI = 0xd8;
const EOI = 0xd9;
const SOS = 0xda;
const APP1 = 0xe1;

export const jpeg: ImageFormat = {
  type: "jpeg",
  name: "JPEG",
  begins: (head) => sharesStart(head, SIGNATURE),
  examine,
};

/** Requires a frame, a scan and an end marker. Skips segments, because a thumbnail has its own end marker. */
function examine(file: ByteWindow): Verdict {
  let size: Size | null = null;
  let orientation: number | null = null;
  let hasScan = false;
  let at = SIGNATURE.length - 1;
  for (let parts = 0; parts < MAX_PARTS; parts += 1) {
    const marker = nextMarker(file, at);
    if (marker === null) return truncatedVerdict(file.size + 1);
    const { code } = marker;
    at = marker.at;
    if (code === EOI)
      return size !== null && hasScan ? completeVerdict(size, orientation ?? 1) : damagedVerdict(at);
    if (code === TEM) {
      at += 2;
      continue;
    }
    if (code < SOF_FIRST || code === SOI) return damagedVerdict(at);

    const length = file.bytes(at + 2, 2)?.readUInt16BE();
    if (length === undefined) return truncatedVerdict(file.size + 1);
    if (length < 2) return damagedVerdict(at);
    const end = at + 2 + length;
    if (end > file.size) return truncatedVerdict(end + 2);
    const isFrameHeader = code >= SOF_FIRST && code <= SOF_LAST && !NO_FRAME_HEADER.has(code);
    if (isFrameHeader && length >= 7) size ??= frameSize(file, at);
    if (code === APP1) orientation ??= orientationAt(file, at + 4, length - 2);
    hasScan ||= code === SOS && size !== null;
    at = end;
  }
  return damagedVerdict(at);
}

/** Finds the next marker after fill bytes and pixel data. In pixel data, 0x00 or a restart code follows each 0xFF. */
function nextMarker(file: ByteWindow, from: number): { code: number; at: number } | null {
  for (let at = from; ; ) {
    const window = file.from(at, 2);
    if (window === null) return null;
    const last = window.length - 1;
    for (
      let offset = window.indexOf(0xff);
      offset !== -1 && offset < last;
      offset = window.indexOf(0xff, offset + 1)
    ) {
      const code = window[offset + 1] as number;
      const isRestart = code >= RST_FIRST && code <= RST_LAST;
      if (code !== 0x00 && code !== 0xff && !isRestart) return { code, at: at + offset };
    }
    at += last;
  }
}

/** Height and width follow the marker, the length and one byte of precision. */
function frameSize(file: ByteWindow, at: number): Size | null {
  const sides = file.bytes(at + 5, 4);
  if (sides === null) return null;
  const size = { width: sides.readUInt16BE(2), height: sides.readUInt16BE(0) };
  return size.height > 0 && size.width > 0 ? size : null;
}

function orientationAt(file: ByteWindow, at: number, length: number): number | null {
  const data = file.bytes(at, length);
  const isExif = data?.subarray(0, EXIF_PREFIX.length).equals(EXIF_PREFIX);
  return data && isExif ? readOrientation(data) : null;
}
