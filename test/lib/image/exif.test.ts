import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { EXIF_PREFIX, readOrientation } from "../../../src/lib/image/exif.ts";
import { inspect } from "./builders.ts";

const WIDE = { create: { width: 60, height: 30, channels: 3, background: "teal" } } as const;

describe("width and height are those that a viewer shows", () => {
  const types = ["jpeg", "png", "webp"] as const;
  const cases = types.flatMap((type) =>
    [1, 2, 3, 4, 5, 6, 7, 8].map((orientation) => [type, orientation] as const),
  );

  it.each(cases)("of a %s with the orientation %d", async (type, orientation) => {
    const bytes = await sharp(WIDE).withMetadata({ orientation }).toFormat(type).toBuffer();
    const { info } = await sharp(bytes).autoOrient().raw().toBuffer({ resolveWithObject: true });
    const { width, height } = info;
    expect(inspect(bytes)).toMatchObject({ ok: true, image: { width, height } });
    expect(JSON.stringify(inspect(bytes)).includes('"isTurned":true')).toBe(orientation !== 1);
  });

  it("of an AVIF that is to be turned", async () => {
    const bytes = await sharp(WIDE).avif().toBuffer();
    const turned = Buffer.from(bytes);
    const at = turned.indexOf("pixi");
    // Some property of the image that is as long as the one that turns it, with a size of its own.
    expect(at).toBeGreaterThan(0);
    turned.write("irot", at, "latin1");
    turned[at + 4] = 1;
    expect(inspect(turned)).toMatchObject({ image: { width: 30, height: 60, isTurned: true } });
  });
});

describe("the orientation in Exif data", () => {
  /** One entry, of big-endian data. */
  function exif(tag: number, value: number, entries = 1): Buffer {
    const head = Buffer.from([0x4d, 0x4d, 0, 42, 0, 0, 0, 8, 0, entries]);
    const entry = Buffer.alloc(12);
    entry.writeUInt16BE(tag, 0);
    entry.writeUInt16BE(3, 2);
    entry.writeUInt16BE(value, 8);
    return Buffer.concat([EXIF_PREFIX, head, entry]);
  }

  it("is found in big-endian data too", () => {
    expect(readOrientation(exif(0x0112, 6))).toBe(6);
  });

  it.each([
    ["that is empty", Buffer.alloc(0)],
    ["that is cut short", exif(0x0112, 6).subarray(0, 20)],
    ["with an orientation that there is none of", exif(0x0112, 9)],
    ["that claims more entries than it has", exif(0x0100, 6, 255)],
    ["that begins beyond its end", Buffer.from("Exif\0\0II*\0\xff\xff\xff\xff\0\0", "latin1")],
    ["of an unknown byte order", Buffer.from("Exif\0\0XX*\0\b\0\0\0\0\0\0\0", "latin1")],
  ])("%s is 1", (_what, data) => {
    expect(readOrientation(data)).toBe(1);
  });
});
