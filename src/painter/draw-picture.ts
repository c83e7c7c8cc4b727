import { pipeline, Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { constants, crc32, createDeflate } from "node:zlib";
import { type PictureSpec, readBrief } from "./brief.ts";
import { createBrush } from "./brush.ts";
import { composePicture } from "./scene.ts";

export type DrawPicture = (spec: PictureSpec) => AsyncIterable<Buffer>;

/** Draws a picture of the prompt's subject as an 8-bit RGB PNG file. Equal specs give equal bytes. */
export function drawPicture(spec: PictureSpec): AsyncIterable<Buffer> {
  return pngStream(spec.width, spec.height, drawBands(spec));
}

async function* drawBands(spec: PictureSpec): AsyncGenerator<Buffer> {
  const { width, height } = spec;
  const paintRow = createBrush(composePicture(readBrief(spec)), width);
  const rows = Math.max(1, Math.floor(65_536 / width));
  const previousRow = new Uint8Array(width * 3);
  for (let top = 0; top < height; top += rows) {
    const band = new Uint8Array(Math.min(rows, height - top) * width * 3);
    for (let at = 0, y = top; at < band.length; at += width * 3) paintRow(y++, band.subarray(at));
    yield filterRows(band, previousRow);
    // Lets the compressor's thread start before the next band is painted.
    await setImmediate();
  }
}

// Size of a chunk, larger than most compressed bands, because a full chunk makes the compressor wait for the painter.
const IDAT_BYTES = 32 * 1024;

/** Encodes a PNG file in chunks. @param bands filtered rows in bands, so that only a few bands are in memory at once */
export async function* pngStream(
  width: number,
  height: number,
  bands: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  // The last bytes mean 8 bits, RGB, default compression and filters, not interlaced.
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const software = Buffer.from("Software\0imggen sandbox", "latin1");
  yield Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("tEXt", software)]);
  // Uses run-length encoding, which suits filtered rows and is much faster than a search for longer matches.
  const deflate = createDeflate({ level: 1, strategy: constants.Z_RLE, chunkSize: IDAT_BYTES });
  // Ignores errors here, because a failed pipeline destroys `deflate`, so that the loop below throws the error.
  pipeline(Readable.from(bands, { highWaterMark: 1 }), deflate, () => undefined);
  for await (const data of splitEvenly(deflate)) yield chunk("IDAT", data);
  yield chunk("IEND", Buffer.alloc(0));
}

/** Splits bytes into pieces of equal size, so that the file does not depend on the timing of the stream. */
async function* splitEvenly(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const data of stream) {
    rest = Buffer.concat([rest, data]);
    for (; rest.length >= IDAT_BYTES; rest = rest.subarray(IDAT_BYTES)) yield rest.subarray(0, IDAT_BYTES);
  }
  if (rest.length > 0) yield rest;
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function chunk(type: string, data: Buffer): Buffer {
  const framed = Buffer.alloc(data.length + 12);
  framed.writeUInt32BE(data.length, 0);
  framed.write(type, 4, "latin1");
  data.copy(framed, 8);
  framed.writeUInt32BE(crc32(framed.subarray(4, data.length + 8)), data.length + 8);
  return framed;
}

/** Encodes rows as differences from the row above. @param previous row above the first row; receives the last row */
export function filterRows(pixels: Uint8Array, previous: Uint8Array): Buffer {
  const stride = previous.length;
  const filtered = Buffer.allocUnsafe((pixels.length / stride) * (stride + 1));
  for (let from = 0, at = 0; from < pixels.length; from += stride) {
    filtered[at++] = 2;
    for (let i = from; i < from + stride; i++)
      filtered[at++] = (pixels[i] as number) - ((from === 0 ? previous[i] : pixels[i - stride]) as number);
  }
  previous.set(pixels.subarray(pixels.length - stride));
  return filtered;
}
