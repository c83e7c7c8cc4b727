import { describe, expect, it } from "vitest";
import { acceptedLengths, box, inspect, uint32 } from "./builders.ts";
import { avif, avifAlpha } from "./samples.ts";
import { itIsWhole } from "./whole-image.ts";

const image = { type: "avif", mediaType: "image/avif", extension: "avif", width: 7, height: 5 };
const dataStart = avif.indexOf("mdat") - 4;

describe.each([
  ["opaque", avif],
  ["with alpha", avifAlpha],
])("an AVIF (%s)", (_, bytes) => {
  itIsWhole(bytes, image);
});

describe("an AVIF", () => {
  it("may be followed by a box that says nothing of the image, but not by a part of one", () => {
    const bytes = Buffer.concat([avif, box("free", Buffer.alloc(20))]);
    expect(acceptedLengths(bytes)).toEqual([avif.length, bytes.length]);
  });

  it("is described at its beginning, however far its boxes reach", () => {
    const bytes = Buffer.concat([avif, box("free", Buffer.alloc(1_000_000)), box("skip")]);
    expect(inspect(bytes)).toEqual({ ok: true, image });
  });

  it("may give the length of a box in 64 bits", () => {
    const header = avif.subarray(0, avif.indexOf("meta") - 4);
    const filler = Buffer.concat([uint32(1), Buffer.from("free"), uint32(0), uint32(20), uint32(0)]);
    const sequence = Buffer.concat([header, filler, box("moov"), box("mdat")]);
    expect(inspect(sequence)).toEqual({ ok: true, image: { ...image, width: 0, height: 0 } });
    const beyond = Buffer.concat([header, uint32(1), Buffer.from("free"), uint32(9), uint32(0)]);
    expect(inspect(beyond)).toMatchObject({
      problem: "incomplete",
      detail: expect.stringMatching(/^AVIF cut short/),
    });
  });

  it("is as large as the largest of its parts", () => {
    const part = (width: number, height: number) => box("ispe", uint32(0), uint32(width), uint32(height));
    const sizes = box("iprp", box("ipco", part(16, 16), part(64, 48), part(8, 8)));
    const bytes = Buffer.concat([
      box("ftyp", Buffer.from("mif1\0\0\0\0avif")),
      box("meta", uint32(0), sizes, box("idat", uint32(0))),
    ]);
    expect(inspect(bytes)).toEqual({ ok: true, image: { ...image, width: 64, height: 48 } });
  });

  it("without its description, or without data, is incomplete", () => {
    const header = avif.subarray(0, avif.indexOf("meta") - 4);
    const undescribed = Buffer.concat([header, avif.subarray(dataStart)]);
    expect(inspect(undescribed)).toMatchObject({ problem: "incomplete" });
    const dataless = Buffer.concat([header, box("meta", uint32(0))]);
    expect(inspect(dataless)).toMatchObject({ problem: "incomplete" });
  });

  it("followed by what is no box is damaged", () => {
    const bytes = Buffer.concat([avif, Buffer.alloc(16)]);
    expect(inspect(bytes)).toMatchObject({ problem: "incomplete", detail: "AVIF damaged at byte 288" });
  });

  it("is not taken for other files of its family", () => {
    const video = Buffer.concat([box("ftyp", Buffer.from("isom\0\0\0\0isommp42")), box("moov"), box("mdat")]);
    expect(inspect(video)).toMatchObject({ ok: false, problem: "not an image", detail: "an MP4 video" });
  });
});
