import { createHash } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { filterRows, pngStream } from "../../src/painter/draw-picture.ts";
import { pause } from "../support/wait.ts";
import { decodePng } from "./picture-spec.ts";

const WIDTH = 512;
const ROWS_TO_A_BAND = 128;
const BANDS = 8;

/** Noise, which compresses to about as much as it is; the file around it is not decoded. */
function noise(band: number): Uint8Array {
  const bytes = new Uint8Array(WIDTH * 3 * ROWS_TO_A_BAND);
  for (let at = 0; at < bytes.length; at += 32)
    bytes.set(createHash("sha256").update(`${band} ${at}`).digest(), at);
  return bytes;
}

const NOISE = Array.from({ length: BANDS }, (_, band) => noise(band));

async function* bands(onEnd = () => {}): AsyncGenerator<Uint8Array> {
  try {
    yield* NOISE;
  } finally {
    onEnd();
  }
}

async function read(pauseMs: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of pngStream(WIDTH, ROWS_TO_A_BAND * BANDS, bands())) {
    parts.push(part);
    if (pauseMs > 0) await pause(pauseMs);
  }
  return Buffer.concat(parts);
}

describe("the PNG file around bands of pixels", () => {
  it("is the same bytes however slowly it is read", async () => {
    const quick = await read(0);
    for (const pauseMs of [1, 10, 40]) expect((await read(pauseMs)).equals(quick)).toBe(true);
  });

  it("paints no further bands for a reader that stops", async () => {
    let parts = 0;
    const ended = new Promise<void>((resolve) => {
      void (async () => {
        for await (const _ of pngStream(WIDTH, ROWS_TO_A_BAND * BANDS, bands(resolve))) {
          parts += 1;
          if (parts === 2) break;
        }
      })();
    });
    await ended;
  });
});

async function* inBands(pixels: Buffer, bytes: number): AsyncGenerator<Uint8Array> {
  const above = new Uint8Array(15);
  for (let at = 0; at < pixels.length; at += bytes) yield filterRows(pixels.subarray(at, at + bytes), above);
}

async function encode(width: number, height: number, bands: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of pngStream(width, height, bands)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test("a picture comes out of the file as it went in, however it was cut into bands", async () => {
  const pixels = Buffer.from(Array.from({ length: 5 * 12 * 3 }, (_, i) => (i * i * 37 + (i >> 3)) & 255));
  for (const rows of [1, 5, 12]) {
    const png = await decodePng(await encode(5, 12, inBands(pixels, rows * 15)));
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
