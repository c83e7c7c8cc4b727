import { writeFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { drawContactSheet, isContactSheet, type SheetCell } from "../../src/graphics/contact-sheet.ts";
import { PICTURE } from "../support/images.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

async function imageFile(width: number, height: number): Promise<string> {
  const file = path.join(await temporaryFolder(), "image.png");
  const image = { width, height, channels: 3, background: "teal" } as const;
  await writeFile(file, await sharp({ create: image }).png().toBuffer());
  return file;
}

async function sheetOf(images: readonly (string | null)[], top: readonly string[] = []) {
  const cells: SheetCell[] = images.map((image) => ({ image, label: "a label" }));
  const bytes = await drawContactSheet({ top, cells, subject: "foxes" });
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  const colorAt = (x: number, y: number) =>
    [...data.subarray((y * info.width + x) * info.channels)].slice(0, 3);
  return { bytes, ...info, colorAt };
}

describe("a contact sheet", () => {
  it("is known by what it holds, and no other image is taken for one", async () => {
    const { bytes } = await sheetOf([null]);
    expect([isContactSheet(bytes), isContactSheet(PICTURE)]).toEqual([true, false]);
  });

  it("is a square grid, which leaves the places after the last picture empty", async () => {
    const image = await imageFile(320, 160);
    const one = await sheetOf([image]);
    const three = await sheetOf([image, image, image]);
    expect([one.width, three.width]).toEqual([16 + 336, 16 + 2 * 336]);
    expect(three.height).toBeGreaterThan(2 * 160);
    const lowest = three.height - one.height + 40;
    const [teal, page] = [
      [0, 128, 128],
      [246, 246, 244],
    ];
    const places = [40, lowest].flatMap((y) => [0, 1].map((at) => three.colorAt(16 + at * 336 + 160, y)));
    expect(places).toEqual([teal, teal, teal, page]);
  });

  it("has a grey place for a picture that there is none of", async () => {
    expect((await sheetOf([null])).colorAt(16 + 160, 40)).toEqual([216, 216, 212]);
  });

  it("scales what is large, puts what is small in the middle, and aligns a row below", async () => {
    const [large, small] = [await imageFile(1280, 640), await imageFile(80, 40)];
    const { colorAt } = await sheetOf([large, small]);
    const [teal, page] = [
      [0, 128, 128],
      [246, 246, 244],
    ];
    const bottom = 32 + 160 - 5;
    expect([colorAt(18, bottom), colorAt(334, bottom)]).toEqual([teal, teal]);
    expect([colorAt(352 + 160, bottom), colorAt(352 + 60, bottom)]).toEqual([teal, page]);
    expect(colorAt(352 + 160, bottom - 60)).toEqual(page);
  });

  it("takes markup in a prompt as text, blanks as none, and cuts what is too long", async () => {
    const pictures = [null];
    const plain = await sheetOf(pictures, ["a fox"]);
    for (const line of ["<b>a & b</b>", " \n ", "</span>"])
      expect((await sheetOf(pictures, [line])).height).toBeGreaterThan((await sheetOf(pictures)).height);
    const long = await sheetOf(pictures, ["a fox ".repeat(2000)]);
    expect(long.height).toBeLessThan(plain.height + 200);
  });

  it("with a picture that cannot be decoded is none", async () => {
    await expect(sheetOf(["/no/such/image.png"])).rejects.toThrow("it cannot be decoded");
  });
});
