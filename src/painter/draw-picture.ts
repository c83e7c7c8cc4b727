import { paint } from "./brush.ts";
import { luminance } from "./canvas/color.ts";
import { pngStream } from "./png-stream.ts";
import { type PictureRequest, readBrief } from "./words/brief.ts";
import type { StyleName } from "./words/vocabulary.ts";

export interface PictureSpec extends PictureRequest {
  /** Size in pixels, both at least 1. */
  readonly width: number;
  readonly height: number;
}

/** Draws an image, as the bytes of a PNG file. */
export type DrawPicture = (spec: PictureSpec) => AsyncIterable<Buffer>;

/**
 * Draws a picture of what the prompt says, as the bytes of an 8-bit RGB PNG file: a different one for each model,
 * reference, task and index, and the same bytes for the same spec. It is painted in bands of rows; the event loop
 * runs while each is compressed.
 */
export function drawPicture(spec: PictureSpec): AsyncIterable<Buffer> {
  return pngStream(spec.width, spec.height, bandsOf(spec));
}

const PIXELS_TO_A_BAND = 1 << 16;

async function* bandsOf({ width, height, ...request }: PictureSpec): AsyncGenerator<Uint8Array> {
  const brief = readBrief(request);
  const dot = dotOf(brief.style, width, height);
  const dots = new Uint8ClampedArray(Math.ceil(width / dot) * 3);
  const paintRow = paint(brief, dots.length / 3, Math.ceil(height / dot));
  const stride = width * 3;
  const rows = Math.max(1, Math.floor(PIXELS_TO_A_BAND / width));
  for (let top = 0; top < height; top += rows) {
    const band = new Uint8Array(Math.min(rows, height - top) * stride);
    for (let at = 0, y = top; at < band.length; at += stride, y++) {
      if (y % dot === 0) {
        paintRow(y / dot, dots);
        if (brief.vivid !== 1) recolor(dots, brief.vivid);
      }
      if (dot === 1) band.set(dots, at);
      else
        for (let x = 0; x < width; x++)
          for (let c = 0, from = Math.floor(x / dot) * 3; c < 3; c++)
            band[at + x * 3 + c] = dots[from + c] as number;
    }
    yield band;
  }
}

/** Brushes and pencils are no finer than this many dots to the longer side can show. */
const MOST_DOTS = 2048;

/** How many pixels of the file, in both directions, are one dot of the painting. */
function dotOf(style: StyleName, width: number, height: number): number {
  if (style === "plain" || style === "poster") return 1;
  if (style === "pixels") return Math.max(1, Math.round(Math.sqrt(width * height) / 120));
  return Math.ceil(Math.max(width, height) / MOST_DOTS);
}

/** @param vivid 0 takes all colour away, 1 would leave it as it is */
function recolor(pixels: Uint8ClampedArray, vivid: number): void {
  for (let at = 0; at < pixels.length; at += 3) {
    const grey = luminance(pixels, at);
    for (let i = at; i < at + 3; i++) pixels[i] = grey + ((pixels[i] as number) - grey) * vivid;
  }
}
