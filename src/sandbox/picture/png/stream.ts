import { pipeline, Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { constants, createDeflate } from "node:zlib";
import { chunk, header, SIGNATURE, text } from "./chunk.ts";
import { filterRows } from "./filter.ts";

/** Bands of complete rows from top to bottom, three bytes (red, green, blue) to the pixel. */
export type Bands = AsyncIterable<Uint8Array>;

// More than a band of an ordinary picture takes: a full chunk makes the compressor wait for the painter.
const IDAT_BYTES = 256 * 1024;

/** A PNG file around the bands, chunk by chunk; no more than a few bands are in memory at a time. */
export async function* pngStream(width: number, height: number, bands: Bands): AsyncGenerator<Buffer> {
  yield Buffer.concat([SIGNATURE, header(width, height), text("Software", "imggen sandbox")]);
  // Run-length matching suits filtered rows, and costs a fraction of a search for longer matches.
  const deflate = createDeflate({ level: 1, strategy: constants.Z_RLE, chunkSize: IDAT_BYTES });
  // An error of the bands reaches the loop below, because a failed pipeline destroys its last stream.
  pipeline(Readable.from(filtered(width, bands), { highWaterMark: 1 }), deflate, () => undefined);
  for await (const data of deflate) yield chunk("IDAT", data as Buffer);
  yield chunk("IEND", Buffer.alloc(0));
}

async function* filtered(width: number, bands: Bands): AsyncGenerator<Buffer> {
  const previous = new Uint8Array(width * 3);
  for await (const band of bands) {
    yield filterRows(band, previous);
    // Hands this band to the compressor's thread before the next one is painted.
    await setImmediate();
  }
}
