import { setImmediate } from "node:timers/promises";
import { readBrief } from "./brief/brief.ts";
import { pngStream } from "./png/stream.ts";
import { STYLES } from "./style/styles.ts";

interface PictureSpec {
  readonly prompt: string;
  /** Which of several pictures of one prompt this is, from 0. */
  readonly index: number;
  /** In pixels, both at least 1. */
  readonly width: number;
  readonly height: number;
}

const PIXELS_TO_A_BAND = 1 << 16;

/**
 * Draws a picture of what the prompt says, as the bytes of an 8-bit RGB PNG file. The same spec always
 * gives the same bytes. Memory stays far below the size of the raster: the picture is painted in bands of
 * rows, with a turn for everybody else on the event loop after each.
 */
export function drawPicture(spec: PictureSpec): AsyncIterable<Buffer> {
  return pngStream(spec.width, spec.height, bandsOf(spec));
}

async function* bandsOf({ prompt, index, width, height }: PictureSpec): AsyncGenerator<Uint8Array> {
  const brief = readBrief(prompt, index);
  const paint = await STYLES[brief.style](brief, width, height);
  const rows = Math.max(1, Math.floor(PIXELS_TO_A_BAND / width));
  for (let top = 0; top < height; top += rows) {
    const band = new Uint8Array(Math.min(rows, height - top) * width * 3);
    paint(top, band);
    yield band;
    await setImmediate();
  }
}
