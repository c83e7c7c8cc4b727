import { setImmediate } from "node:timers/promises";
import { type PictureSpec, readBrief } from "./brief.ts";
import { brush } from "./brush.ts";
import { filterRows, pngStream } from "./png-stream.ts";
import { composePicture } from "./scene.ts";

/** Draws an image, as the bytes of a PNG file. */
export type DrawPicture = (spec: PictureSpec) => AsyncIterable<Buffer>;

/**
 * Draws a picture of what the prompt says, as the bytes of an 8-bit RGB PNG file: a different one for each model,
 * reference, task and index, and the same bytes for the same spec.
 */
export function drawPicture(spec: PictureSpec): AsyncIterable<Buffer> {
  return pngStream(spec.width, spec.height, bandsOf(spec));
}

async function* bandsOf(spec: PictureSpec): AsyncGenerator<Buffer> {
  const { width, height } = spec;
  const paintRow = brush(composePicture(readBrief(spec)), width);
  const rows = Math.max(1, Math.floor(65_536 / width));
  const above = new Uint8Array(width * 3);
  for (let top = 0; top < height; top += rows) {
    const band = new Uint8Array(Math.min(rows, height - top) * width * 3);
    for (let at = 0, y = top; at < band.length; at += width * 3) paintRow(y++, band.subarray(at));
    yield filterRows(band, above);
    // Hands the band to the compressor's thread before the next one is painted.
    await setImmediate();
  }
}
