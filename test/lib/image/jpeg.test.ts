import { describe, expect, it } from "vitest";
import { acceptedLengths, inspect } from "./builders.ts";
import { jpegBaseline, jpegProgressive } from "./samples.ts";
import { itIsWhole, itMayBeFollowed } from "./whole-image.ts";

const image = { type: "jpeg", mediaType: "image/jpeg", extension: "jpg", width: 7, height: 5 };
const START_BYTES = 2;
const END = Buffer.from([0xff, 0xd9]);

/** The image with segments put after its start marker. */
const withSegments = (...segments: Buffer[]): Buffer =>
  Buffer.concat([jpegBaseline.subarray(0, START_BYTES), ...segments, jpegBaseline.subarray(START_BYTES)]);

function segment(code: number, data: Uint8Array): Buffer {
  const length = data.length + 2;
  return Buffer.concat([Buffer.from([0xff, code, length >> 8, length & 0xff]), data]);
}

describe.each([
  ["baseline", jpegBaseline],
  ["progressive", jpegProgressive],
])("a %s JPEG", (_, bytes) => {
  itIsWhole(bytes, image);
  itMayBeFollowed(bytes, image);
});

describe("a JPEG", () => {
  it("is not taken for the thumbnail inside it, and is incomplete at every length but its own", () => {
    const smaller = Buffer.from(jpegProgressive);
    smaller.writeUInt16BE(3, smaller.indexOf(Buffer.from([0xff, 0xc2])) + 5);
    const bytes = withSegments(segment(0xe1, Buffer.concat([Buffer.from("Exif\0\0"), smaller])));
    expect(inspect(bytes)).toEqual({ ok: true, image });
    expect(inspect(smaller)).toMatchObject({ ok: true, image: { height: 3 } });
    expect(acceptedLengths(bytes)).toEqual([bytes.length]);
  });

  it("may have fill bytes before a marker, and restart markers and escaped 0xFF in its pixels", () => {
    const pixels = Buffer.from("12ff0034ffd056ffd7ff00ffff", "hex");
    const bytes = Buffer.concat([jpegBaseline.subarray(0, -2), pixels, END]);
    expect(inspect(bytes)).toEqual({ ok: true, image });
    expect(acceptedLengths(bytes)).toEqual([bytes.length]);
  });

  it.each([0x3_ffff, 0x4_0000, 0x4_0001])("may have pixels that end near a window's edge (%i)", (edge) => {
    const padding = Buffer.alloc(edge - jpegBaseline.length + 1, 0x11);
    const bytes = Buffer.concat([jpegBaseline.subarray(0, -2), padding, END]);
    expect(inspect(bytes)).toEqual({ ok: true, image });
    expect(inspect(bytes.subarray(0, -1))).toMatchObject({ problem: "incomplete" });
  });

  it("takes only frame headers for the size, not other segments of that range", () => {
    const other = Buffer.from([8, 0, 99, 0, 98, 1, 1, 0x11, 0]);
    const bytes = withSegments(segment(0xc4, other), segment(0xc8, other), segment(0xcc, other));
    expect(inspect(bytes)).toEqual({ ok: true, image });
  });

  const broken: Array<[string, Buffer]> = [
    ["without anything between start and end", Buffer.from([0xff, 0xd8, 0xff, 0xd9])],
    ["without a scan", Buffer.concat([jpegBaseline.subarray(0, jpegBaseline.indexOf("ffda", "hex")), END])],
    ["with a segment shorter than its length field", withSegments(Buffer.from([0xff, 0xe0, 0, 1]))],
    ["that starts twice", withSegments(Buffer.from([0xff, 0xd8]))],
  ];
  it.each(broken)("%s is damaged", (_, bytes) => {
    expect(inspect(bytes)).toMatchObject({
      problem: "incomplete",
      detail: expect.stringMatching(/^JPEG damaged at byte \d+$/),
    });
  });

  it("that is cut short says how long it is at least", () => {
    const inSegment = withSegments(segment(0xfe, Buffer.alloc(5000))).subarray(0, 900);
    expect(inspect(inSegment)).toMatchObject({ detail: "JPEG cut short at byte 900 of at least 5,008" });
    const detail = "JPEG cut short at byte 282 of at least 283";
    expect(inspect(jpegBaseline.subarray(0, -4))).toEqual({ ok: false, problem: "incomplete", detail });
  });
});
