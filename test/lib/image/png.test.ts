import { describe, expect, it } from "vitest";
import { acceptedLengths, buildPng, inspect, pngChunk, pngHeader, pngSignature } from "./builders.ts";

const image = { type: "png", mediaType: "image/png", extension: "png" };
const pixels = pngChunk("IDAT", Buffer.from([1, 2, 3]));
const end = pngChunk("IEND");

describe("a PNG", () => {
  it("is recognised with its size", async () => {
    expect(await inspect(buildPng(300, 20))).toEqual({
      ok: true,
      image: { ...image, width: 300, height: 20 },
    });
  });

  it("is incomplete at every length but its own", async () => {
    const bytes = buildPng(40, 30, 16);
    expect(await acceptedLengths(bytes)).toEqual([bytes.length]);
  });

  it("says how much of it is there, and how much would be needed", async () => {
    const bytes = Buffer.concat([pngSignature, pngHeader(9, 9), pngChunk("IDAT", Buffer.alloc(8123)), end]);
    expect(await inspect(bytes.subarray(0, 512))).toEqual({
      ok: false,
      problem: "incomplete",
      detail: "PNG cut short at byte 512 of at least 8,180",
    });
    expect(bytes.length).toBe(8180);
  });

  it("may be followed by other bytes", async () => {
    expect(await inspect(Buffer.concat([buildPng(2, 2), Buffer.from("trailing")]))).toMatchObject({
      ok: true,
    });
  });

  it("may have unknown chunks, and a wrong checksum over pixels or text", async () => {
    const text = pngChunk("tEXt", Buffer.from("a\0b"));
    text[text.length - 1] = (text.at(-1) as number) ^ 1;
    const bytes = Buffer.concat([pngSignature, pngHeader(2, 3), text, pngChunk("zzZz"), pixels, end]);
    expect(await inspect(bytes)).toMatchObject({ ok: true, image: { width: 2, height: 3 } });
  });

  it("is walked across the windows in which it is read", async () => {
    const data = Buffer.alloc(8192, 7);
    const chunks = Array.from({ length: 40 }, () => pngChunk("IDAT", data));
    const bytes = Buffer.concat([pngSignature, pngHeader(5, 6), ...chunks, end]);
    expect(await inspect(bytes)).toMatchObject({ ok: true, image: { width: 5, height: 6 } });
    expect(await inspect(bytes.subarray(0, -1))).toMatchObject({ problem: "incomplete" });
    const hole = Buffer.concat([bytes.subarray(0, 100_000), bytes.subarray(100_001)]);
    expect(await inspect(hole)).toMatchObject({ problem: "incomplete" });
  });

  const broken: Array<[string, Buffer[]]> = [
    ["without pixels", [pngHeader(2, 2), end]],
    ["whose first chunk is another", [pngChunk("tEXt", Buffer.alloc(13)), pngHeader(2, 2), pixels, end]],
    ["that is no pixels wide", [pngHeader(0, 2), pixels, end]],
    ["that is higher than the format allows", [pngHeader(2, 0x8000_0000), pixels, end]],
    ["whose chunks lose step", [pngHeader(2, 2), pixels, Buffer.from([0]), end]],
    ["with a hole of zeros", [pngHeader(2, 2), pixels, Buffer.alloc(64), end]],
  ];
  it.each(broken)("%s is damaged", async (_, parts) => {
    const inspection = await inspect(Buffer.concat([pngSignature, ...parts]));
    expect(inspection).toMatchObject({
      problem: "incomplete",
      detail: expect.stringMatching(/^PNG damaged at byte \d+$/),
    });
  });

  it("whose size was altered is damaged, since its checksum says so", async () => {
    const bytes = buildPng(2, 2);
    bytes[19] = 3;
    expect(await inspect(bytes)).toMatchObject({ problem: "incomplete", detail: "PNG damaged at byte 8" });
  });
});
