import sharp from "sharp";
import { describe, expect, it } from "vitest";
import {
  convertImage,
  getSharpVersion,
  isMissingInExecutable,
  isWritable,
  scaleToPng,
} from "../../src/graphics/decoder.ts";
import {
  photograph,
  TITLE,
  withContentCredentials,
  withIptc,
  withPngText,
} from "../support/image-metadata.ts";
import { PICTURE } from "../support/images.ts";

const TRANSPARENT = { create: { width: 8, height: 8, channels: 4, background: "#0000" } } as const;
const typeOf = async (bytes: Buffer) => (await sharp(bytes).metadata()).format;

describe("an image in another type", () => {
  it.each(["png", "jpeg", "webp"] as const)("is a whole %s", async (type) => {
    expect(await typeOf((await convertImage(PICTURE, type)).bytes)).toBe(type);
  });

  it("has white in place of what is transparent, where the type has no transparency", async () => {
    const clear = await sharp(TRANSPARENT).png().toBuffer();
    const pixels = await sharp((await convertImage(clear, "jpeg")).bytes)
      .raw()
      .toBuffer();
    expect([...pixels.subarray(0, 3)]).toEqual([255, 255, 255]);
  });

  it("is none of an animation, of which it would be the first frame alone", async () => {
    const frames = await Promise.all(
      ["red", "blue"].map((background) =>
        sharp({ create: { width: 8, height: 8, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    );
    const animation = await sharp(frames, { join: { animated: true } })
      .gif()
      .toBuffer();
    await expect(convertImage(animation, "png")).rejects.toThrow("it cannot be decoded (it is animated)");
  });

  it("is written in types of its own alone", () => {
    expect(["png", "jpeg", "webp", "gif", "toString"].map(isWritable)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});

describe("metadata of a converted image", () => {
  const conversions = (["png", "jpeg", "webp"] as const).flatMap((from) =>
    (["png", "jpeg", "webp"] as const).filter((to) => to !== from).map((to) => [from, to] as const),
  );

  it.each(conversions)("of %s are kept in %s: EXIF, XMP and colour profile, upright", async (from, to) => {
    const { bytes, lostMetadata: lost } = await convertImage(await photograph(from), to);
    const { format, width, height, orientation, exif, xmpAsString, icc } = await sharp(bytes).metadata();
    expect({ format, width, height }).toEqual({ format: to, width: 24, height: 40 });
    expect(orientation ?? 1).toBe(1);
    expect(exif?.includes("Ada")).toBe(true);
    expect(xmpAsString).toContain(TITLE);
    expect(icc).toEqual((await sharp(await photograph("jpeg")).metadata()).icc);
    expect(lost).toEqual([]);
  });

  it.each([
    ["PNG text", async () => withPngText(await photograph("png"), "parameters", "Steps: 20"), "jpeg"],
    ["PNG text", async () => withPngText(await photograph("png"), "parameters", "Steps: 20"), "webp"],
    ["IPTC", async () => withIptc(await photograph("jpeg")), "png"],
    ["IPTC", async () => withIptc(await photograph("jpeg")), "webp"],
    ["C2PA content credentials", async () => withContentCredentials(await photograph("jpeg")), "webp"],
  ] as const)("are named if they cannot be kept: %s", async (name, file, to) => {
    expect((await convertImage(await file(), to)).lostMetadata).toEqual([name]);
  });

  it("of a file with nothing but pixels have nothing to lose", async () => {
    expect((await convertImage(PICTURE, "jpeg")).lostMetadata).toEqual([]);
  });
});

describe("what cannot be decoded", () => {
  it.each([
    ["no image", Buffer.from("<html>")],
    ["an image that is cut short", PICTURE.subarray(0, 60)],
    ["nothing", Buffer.alloc(0)],
  ])("%s is told in one line", async (_what, bytes) => {
    await expect(scaleToPng(bytes, 8, 8)).rejects.toThrow(/^it cannot be decoded \([^\n]+\)$/);
  });

  it("a file that is not there is told too", async () => {
    await expect(scaleToPng("/no/such/file.png", 8, 8)).rejects.toThrow(/^it cannot be decoded/);
  });
});

it("the decoder has a version, and only a single executable is one", async () => {
  expect(await getSharpVersion()).toMatch(/^\d+\.\d+\.\d+/);
  expect(isMissingInExecutable(Object.assign(new Error("no"), { code: "ERR_NOT_IN_EXECUTABLE" }))).toBe(true);
  expect(isMissingInExecutable(new Error("no"))).toBe(false);
});
