import { describe, expect, it } from "vitest";
import { inspect } from "./builders.ts";
import { webpAnimated, webpExtended, webpLossless, webpLossy } from "./samples.ts";
import { itIsWhole, itMayBeFollowed } from "./whole-image.ts";

const image = { type: "webp", mediaType: "image/webp", extension: "webp", width: 7, height: 5 };

describe.each([
  ["lossy", webpLossy],
  ["lossless", webpLossless],
  ["extended", webpExtended],
  ["animated", webpAnimated],
])("a WebP (%s)", (_, bytes) => {
  itIsWhole(bytes, image);
  itMayBeFollowed(bytes, image);
});

describe("a WebP", () => {
  it("may be as small as one pixel in 26 bytes", () => {
    const bytes = Buffer.from("UklGRhIAAABXRUJQVlA4TAYAAAAvQWxvAGs=", "base64");
    expect(bytes.length).toBe(26);
    expect(inspect(bytes)).toMatchObject({ ok: true });
  });

  it("is read for the size of its canvas, however large", () => {
    const bytes = Buffer.from(webpExtended);
    bytes.writeUIntLE(16_383, 24, 3);
    bytes.writeUIntLE(70_000, 27, 3);
    expect(inspect(bytes)).toMatchObject({ ok: true, image: { width: 16_384, height: 70_001 } });
  });

  it("without pixels is damaged", () => {
    const bytes = Buffer.from(webpExtended.subarray(0, 30));
    bytes.writeUInt32LE(22, 4);
    expect(inspect(bytes)).toMatchObject({ problem: "incomplete", detail: "WebP damaged at byte 30" });
  });

  it("whose first chunk is of another kind is damaged", () => {
    const bytes = Buffer.from(webpLossy);
    bytes.write("EXIF", 12, "latin1");
    expect(inspect(bytes)).toMatchObject({ problem: "incomplete", detail: "WebP damaged at byte 12" });
  });

  it("is not taken for a sound file, which begins in the same way", () => {
    const sound = Buffer.concat([Buffer.from("RIFF\x24\0\0\0WAVEfmt ", "latin1"), Buffer.alloc(28)]);
    expect(inspect(sound)).toMatchObject({ problem: "not an image" });
  });
});
