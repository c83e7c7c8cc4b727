import { expect, test } from "vitest";
import { filterRows } from "../../../../src/sandbox/picture/png/filter.ts";
import { pngStream } from "../../../../src/sandbox/picture/png/stream.ts";
import { decodePng } from "./decode.ts";

async function* inBands(pixels: Buffer, bytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < pixels.length; at += bytes) yield pixels.subarray(at, at + bytes);
}

async function encode(width: number, height: number, bands: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of pngStream(width, height, bands)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test("a picture comes out of the file as it went in, however it was cut into bands", async () => {
  const pixels = Buffer.from(Array.from({ length: 5 * 12 * 3 }, (_, i) => (i * i * 37 + (i >> 3)) & 255));
  for (const rows of [1, 5, 12]) {
    const png = decodePng(await encode(5, 12, inBands(pixels, rows * 15)));
    expect(png.pixels.equals(pixels)).toBe(true);
  }
});

test("rows that repeat the row above become zeros", () => {
  const row = [9, 200, 3, 77, 12, 255, 140, 1, 90, 33, 7, 250, 61, 8, 19];
  const filtered = filterRows(Uint8Array.from([...row, ...row]), new Uint8Array(15));
  expect([...filtered.subarray(16)]).toEqual([2, ...row.map(() => 0)]);
});

test("an error while painting reaches the reader of the file", async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(15);
    throw new Error("out of paint");
  }
  await expect(encode(5, 12, failing())).rejects.toThrow("out of paint");
});
