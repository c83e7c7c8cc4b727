import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { pngStream } from "../../../../src/sandbox/picture/png/stream.ts";
import { decodePng } from "./decode.ts";

const WIDTH = 512;
const ROWS_TO_A_BAND = 128;
const BANDS = 8;

/** Noise, which compresses to about as much as it is. */
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
    if (pauseMs > 0) await setTimeout(pauseMs);
  }
  return Buffer.concat(parts);
}

describe("the PNG file around bands of pixels", () => {
  it("is the same bytes however slowly it is read", async () => {
    const quick = await read(0);
    for (const pauseMs of [1, 10, 40]) expect((await read(pauseMs)).equals(quick)).toBe(true);
  });

  it("has every pixel of every band", async () => {
    const { pixels } = decodePng(await read(0));
    // Made anew: the encoder must not change what it is given.
    const expected = Array.from({ length: BANDS }, (_, band) => noise(band));
    expect(pixels.equals(Buffer.concat(expected))).toBe(true);
  });

  it("ends with the error of a band that cannot be painted", async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield* NOISE.slice(0, 1);
      throw new Error("no paint");
    }
    const all = async () => {
      for await (const _ of pngStream(WIDTH, ROWS_TO_A_BAND * 2, broken()));
    };
    await expect(all()).rejects.toThrow("no paint");
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
