import { describe, expect, it } from "vitest";
import { inspect } from "./builders.ts";
import { gif, gifAnimated } from "./samples.ts";
import { itIsWhole, itMayBeFollowed } from "./whole-image.ts";

const image = { type: "gif", mediaType: "image/gif", extension: "gif", width: 7, height: 5 };

describe.each([
  ["still", gif],
  ["animated", gifAnimated],
])("a GIF (%s)", (_, bytes) => {
  itIsWhole(bytes, image);
  itMayBeFollowed(bytes, image);
});

describe("a GIF", () => {
  const head = Buffer.from("GIF87a\x07\0\x05\0\0\0\0", "latin1");

  it("without a picture is damaged", () => {
    const bytes = Buffer.concat([head, Buffer.from([0x3b])]);
    expect(inspect(bytes)).toMatchObject({ problem: "incomplete", detail: "GIF damaged at byte 13" });
  });

  it("with a block of no known kind is damaged", () => {
    const bytes = Buffer.concat([gif.subarray(0, -1), Buffer.from([0x99, 0x3b])]);
    expect(inspect(bytes)).toMatchObject({ problem: "incomplete", detail: "GIF damaged at byte 159" });
  });

  it("may hold far more data than one window", () => {
    const piece = Buffer.concat([Buffer.from([200]), Buffer.alloc(200, 0x3b)]);
    const comment = Buffer.concat([Buffer.from([0x21, 0xfe]), ...Array(2000).fill(piece), Buffer.from([0])]);
    const bytes = Buffer.concat([gif.subarray(0, -1), comment, gif.subarray(-1)]);
    expect(inspect(bytes)).toEqual({ ok: true, image });
    expect(inspect(bytes.subarray(0, -1))).toMatchObject({ problem: "incomplete" });
    expect(inspect(bytes.subarray(0, 300_000))).toMatchObject({ problem: "incomplete" });
  });
});
