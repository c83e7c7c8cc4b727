import { pipeline, Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { constants, createDeflate } from "node:zlib";
import { chunk, header, SIGNATURE, text } from "./chunk.ts";
import { filterRows } from "./filter.ts";

/** Bands of complete rows from top to bottom, three bytes (red, green, blue) to the pixel. */
export type Bands = AsyncIterable<Uint8Array>;

// More than most bands compress to: a full chunk makes the compressor wait for the painter.
const IDAT_BYTES = 128 * 1024;

/** A PNG file around the bands, chunk by chunk; no more than a few bands are in memory at a time. */
export async function* pngStream(width: number, height: number, bands: Bands): AsyncGenerator<Buffer> {
  yield Buffer.concat([SIGNATURE, header(width, height), text("Software", "imggen sandbox")]);
  // Run-length matching suits filtered rows, and costs a fraction of a search for longer matches.
  const deflate = createDeflate({ level: 1, strategy: constants.Z_RLE, chunkSize: IDAT_BYTES });
  // An error of the bands reaches the loop below, because a failed pipeline destroys its last stream.
  pipeline(Readable.from(filtered(width, bands), { highWaterMark: 1 }), deflate, () => undefined);
  for await (const data of ofEqualSize(deflate)) yield chunk("IDAT", data);
  yield chunk("IEND", Buffer.alloc(0));
}

/** The same bytes in pieces whose sizes do not depend on how quickly they are read. */
async function* ofEqualSize(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = Buffer.alloc(0);
  for await (const data of stream) {
    left = Buffer.concat([left, data]);
    for (; left.length >= IDAT_BYTES; left = left.subarray(IDAT_BYTES)) yield left.subarray(0, IDAT_BYTES);
  }
  if (left.length > 0) yield left;
}

async function* filtered(width: number, bands: Bands): AsyncGenerator<Buffer> {
  const previous = new Uint8Array(width * 3);
  for await (const band of bands) {
    yield filterRows(band, previous);
    // Hands this band to the compressor's thread before the next one is painted.
    await setImmediate();
  }
}
