import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { cpuTimeOf } from "../../support/cpu-time.ts";
import { buildPng, inspect, pngChunk, pngHeader, pngSignature } from "./builders.ts";
import { itIsWhole, itMayBeFollowed } from "./whole-image.ts";

const image = { type: "png", mediaType: "image/png", extension: "png" };
const pixels = pngChunk("IDAT", Buffer.from([1, 2, 3]));
const end = pngChunk("IEND");

/** A chunk whose checksum is another one's. */
function withoutMatch(chunk: Buffer): Buffer {
  const changed = Buffer.from(chunk);
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  return changed;
}

describe("a PNG", () => {
  itIsWhole(buildPng(40, 30, 16), { ...image, width: 40, height: 30 });
  itMayBeFollowed(buildPng(2, 2), { ...image, width: 2, height: 2 });

  it("says how much of it is there, and how much would be needed", () => {
    const bytes = Buffer.concat([pngSignature, pngHeader(9, 9), pngChunk("IDAT", Buffer.alloc(8123)), end]);
    const detail = "PNG cut short at byte 512 of at least 8,180";
    expect(inspect(bytes.subarray(0, 512))).toEqual({ ok: false, problem: "incomplete", detail });
    expect(bytes.length).toBe(8180);
  });

  it("may have unknown chunks", () => {
    const text = pngChunk("tEXt", Buffer.from("a\0b"));
    const bytes = Buffer.concat([pngSignature, pngHeader(2, 3), text, pngChunk("zzZz"), pixels, end]);
    expect(inspect(bytes)).toMatchObject({ ok: true, image: { width: 2, height: 3 } });
  });

  it("with any one bit changed, up to its end, is not whole", () => {
    const bytes = buildPng(5, 4, 8);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(inspect(changed), `bit ${bit}`).toMatchObject({ ok: false });
    }
  });

  it("of eight million empty chunks is given up in a moment", async () => {
    const empty = pngChunk("zzZz");
    const many = Buffer.alloc(8_000_000 * empty.length, empty);
    const bytes = Buffer.concat([pngSignature, pngHeader(2, 2), many, pixels, end]);
    const cost = await cpuTimeOf(() => expect(inspect(bytes)).toMatchObject({ problem: "incomplete" }));
    expect(cost).toBeLessThan(20_000);
  });

  it("is walked across the windows in which it is read", () => {
    const data = Buffer.alloc(8192, 7);
    const chunks = Array.from({ length: 40 }, () => pngChunk("IDAT", data));
    const bytes = Buffer.concat([pngSignature, pngHeader(5, 6), ...chunks, end]);
    expect(inspect(bytes)).toMatchObject({ ok: true, image: { width: 5, height: 6 } });
    expect(inspect(bytes.subarray(0, -1))).toMatchObject({ problem: "incomplete" });
    const hole = Buffer.concat([bytes.subarray(0, 100_000), bytes.subarray(100_001)]);
    expect(inspect(hole)).toMatchObject({ problem: "incomplete" });
  });

  const broken: Array<[string, Buffer[]]> = [
    ["without pixels", [pngHeader(2, 2), end]],
    ["whose pixels are no bytes", [pngHeader(2, 2), pngChunk("IDAT"), pngChunk("IDAT"), end]],
    ["whose pixels do not match their checksum", [pngHeader(2, 2), withoutMatch(pixels), end]],
    ["whose end does not match its checksum", [pngHeader(2, 2), pixels, withoutMatch(end)]],
    ["whose first chunk is another", [pngChunk("tEXt", Buffer.alloc(13)), pngHeader(2, 2), pixels, end]],
    ["that is no pixels wide", [pngHeader(0, 2), pixels, end]],
    ["that is higher than the format allows", [pngHeader(2, 0x8000_0000), pixels, end]],
    ["whose chunks lose step", [pngHeader(2, 2), pixels, Buffer.from([0]), end]],
    ["with a hole of zeros", [pngHeader(2, 2), pixels, Buffer.alloc(64), end]],
  ];
  it.each(broken)("%s is damaged", (_, parts) => {
    const inspection = inspect(Buffer.concat([pngSignature, ...parts]));
    expect(inspection).toMatchObject({
      problem: "incomplete",
      detail: expect.stringMatching(/^PNG damaged at byte \d+$/),
    });
  });

  const noise = deflateSync(Buffer.from(Array.from({ length: 80 }, (_, at) => (at * 37) % 256)));
  it.each([
    ["that holds 1 of 8 rows, although every checksum is correct,", 0, deflateSync(Buffer.alloc(10)), false],
    ["that holds 7 of 8 rows", 0, deflateSync(Buffer.alloc(70)), false],
    ["whose compressed pixels are cut short", 0, noise.subarray(0, -30), false],
    ["with more rows than its header says", 0, deflateSync(Buffer.alloc(90)), true],
    ["that is interlaced", 1, deflateSync(Buffer.alloc(8 * 9 + 15)), true],
  ])("%s is whole or not", (_what, interlaced, data, ok) => {
    const header = Buffer.from([0, 0, 0, 9, 0, 0, 0, 8, 8, 0, 0, 0, interlaced]);
    const bytes = Buffer.concat([pngSignature, pngChunk("IHDR", header), pngChunk("IDAT", data), end]);
    expect(inspect(bytes)).toMatchObject(ok ? { ok } : { problem: "incomplete" });
  });

  it("whose size was altered is damaged, since its checksum says so", () => {
    const bytes = buildPng(2, 2);
    bytes[19] = 3;
    expect(inspect(bytes)).toMatchObject({ problem: "incomplete", detail: "PNG damaged at byte 8" });
  });
});
