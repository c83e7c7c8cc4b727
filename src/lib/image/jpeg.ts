import {
  type ByteWindow,
  cutShort,
  damaged,
  type ImageFormat,
  MOST_PARTS,
  type Size,
  sharesStart,
  type Verdict,
  whole,
} from "./format.ts";

const START = Buffer.from([0xff, 0xd8, 0xff]);
const TEM = 0x01;
const SOF_FIRST = 0xc0;
const SOF_LAST = 0xcf;
/** Codes in the range of frame headers that are not frame headers: DHT, JPG, DAC. */
const NO_FRAME_HEADER = new Set([0xc4, 0xc8, 0xcc]);
const RST_FIRST = 0xd0;
const RST_LAST = 0xd7;
const SOI = 0xd8;
const EOI = 0xd9;
const SOS = 0xda;

interface Marker {
  code: number;
  /** Position of its 0xFF. */
  at: number;
}

export const jpeg: ImageFormat = {
  type: "jpeg",
  name: "JPEG",
  begins: (head) => sharesStart(head, START),
  examine,
};

/**
 * Complete means: a frame header, a scan, and the end marker. Segments are skipped by their length, so that the end
 * marker of a thumbnail inside one is not taken for the image's. Bytes after the end are ignored.
 */
function examine(file: ByteWindow): Verdict {
  let size: Size | null = null;
  let hasScan = false;
  let at = 2;
  for (let parts = 0; parts < MOST_PARTS; parts += 1) {
    const marker = nextMarker(file, at);
    if (marker === null) return cutShort(file.size + 1);
    if (marker.code === EOI) return size !== null && hasScan ? whole(size) : damaged(marker.at);

    const end = segmentEnd(file, marker);
    if (end === null) return cutShort(file.size + 1);
    if (end === "none") return damaged(marker.at);
    if (end > file.size) return cutShort(end + 2);

    if (isFrameHeader(marker.code)) size ??= frameSize(file, marker.at, end);
    hasScan ||= marker.code === SOS && size !== null;
    at = end;
  }
  return damaged(at);
}

/** Skips pixel data, in which 0xFF is followed by 0x00 or a restart marker, and fill bytes. */
function nextMarker(file: ByteWindow, from: number): Marker | null {
  for (let at = from; ; ) {
    const window = file.from(at, 2);
    if (window === null) return null;
    const found = markerIn(window);
    if (found !== -1) return { code: window[found + 1] as number, at: at + found };
    // The last byte is read again: it may be the first half of a marker.
    at += window.length - 1;
  }
}

function markerIn(window: Buffer): number {
  const last = window.length - 1;
  let at = window.indexOf(0xff);
  while (at !== -1 && at < last) {
    const code = window[at + 1] as number;
    const isRestart = code >= RST_FIRST && code <= RST_LAST;
    if (code !== 0x00 && code !== 0xff && !isRestart) return at;
    at = window.indexOf(0xff, at + 1);
  }
  return -1;
}

/** `null` if the file ends within the segment; `none` for a marker that cannot occur here. */
function segmentEnd(file: ByteWindow, { code, at }: Marker): number | "none" | null {
  if (code === TEM) return at + 2;
  if (code < SOF_FIRST || code === SOI) return "none";
  const length = file.bytes(at + 2, 2)?.readUInt16BE();
  if (length === undefined) return null;
  return length < 2 ? "none" : at + 2 + length;
}

function isFrameHeader(code: number): boolean {
  return code >= SOF_FIRST && code <= SOF_LAST && !NO_FRAME_HEADER.has(code);
}

/** Height and width follow the marker, the length and one byte of precision. */
function frameSize(file: ByteWindow, at: number, end: number): Size | null {
  const sides = at + 9 <= end ? file.bytes(at + 5, 4) : null;
  if (sides === null) return null;
  const size = { width: sides.readUInt16BE(2), height: sides.readUInt16BE(0) };
  return size.height > 0 && size.width > 0 ? size : null;
}
