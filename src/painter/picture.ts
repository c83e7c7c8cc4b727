import type { StyleName } from "./data/palettes.ts";
import { pngStream } from "./png.ts";
import { pixels, plain, poster } from "./style/flat.ts";
import { oil } from "./style/oil.ts";
import { sketch } from "./style/sketch.ts";
import { enlarged, type Style } from "./style/style.ts";
import { watercolor } from "./style/watercolor.ts";
import { type PictureRequest, readBrief } from "./words/brief.ts";

export interface PictureSpec extends PictureRequest {
  /** In pixels, both at least 1. */
  readonly width: number;
  readonly height: number;
}

/** Draws an image, as the bytes of a PNG file. */
export type DrawPicture = (spec: PictureSpec) => AsyncIterable<Buffer>;

const PIXELS_TO_A_BAND = 1 << 16;

/**
 * Draws a picture of what the prompt says, as the bytes of an 8-bit RGB PNG file: a different one for each model,
 * reference, task and index, and the same bytes for the same spec. It is painted in bands of rows; the event loop
 * runs while each is compressed. What is kept in memory is at most a picture of 2K, four bytes to the pixel.
 */
export function drawPicture(spec: PictureSpec): AsyncIterable<Buffer> {
  return pngStream(spec.width, spec.height, bandsOf(spec));
}

async function* bandsOf({ width, height, ...spec }: PictureSpec): AsyncGenerator<Uint8Array> {
  const brief = readBrief(spec);
  const paintRow = await STYLES[brief.style](brief, width, height);
  const stride = width * 3;
  const rows = Math.max(1, Math.floor(PIXELS_TO_A_BAND / width));
  for (let top = 0; top < height; top += rows) {
    const band = new Uint8ClampedArray(Math.min(rows, height - top) * stride);
    for (let at = 0, y = top; at < band.length; at += stride, y++)
      paintRow(y, band.subarray(at, at + stride));
    if (brief.grade) for (let at = 0; at < band.length; at += 3) brief.grade(band, at);
    yield new Uint8Array(band.buffer);
  }
}

export const STYLES: Readonly<Record<StyleName, Style>> = {
  plain,
  pixels,
  poster,
  oil: enlarged(oil),
  watercolor: enlarged(watercolor),
  sketch: enlarged(sketch),
};
