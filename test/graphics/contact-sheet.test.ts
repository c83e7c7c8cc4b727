import { writeFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { contactSheet, isContactSheet, type SheetRow } from "../../src/graphics/contact-sheet.ts";
import { PICTURE } from "../support/images.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

async function imageFile(width: number, height: number): Promise<string> {
  const file = path.join(await temporaryFolder(), "image.png");
  const image = { width, height, channels: 3, background: "teal" } as const;
  await writeFile(file, await sharp({ create: image }).png().toBuffer());
  return file;
}

async function sheetOf(rows: readonly SheetRow[], top: readonly string[] = []) {
  const bytes = await contactSheet({ top, rows, of: "foxes" });
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  const colorAt = (x: number, y: number) =>
    [...data.subarray((y * info.width + x) * info.channels)].slice(0, 3);
  return { bytes, ...info, colorAt };
}

const row = (...images: (string | null)[]): SheetRow => ({
  heading: null,
  cells: images.map((image) => ({ image, label: "a label" })),
});

describe("a contact sheet", () => {
  it("is known by what it holds, and no other image is taken for one", async () => {
    const { bytes } = await sheetOf([row(null)]);
    expect([isContactSheet(bytes), isContactSheet(PICTURE)]).toEqual([true, false]);
  });

  it("is as wide as its longest row, and leaves the place of a missing cell empty", async () => {
    const image = await imageFile(320, 160);
    const one = await sheetOf([row(image)]);
    const three = await sheetOf([{ heading: null, cells: [null, ...row(image, image).cells] }]);
    expect([one.width, three.width]).toEqual([16 + 336, 16 + 3 * 336]);
    expect(three.height).toBe(one.height);
    const places = [0, 1, 2].map((at) => three.colorAt(16 + at * 336 + 160, 40));
    expect(places).toEqual([
      [246, 246, 244],
      [0, 128, 128],
      [0, 128, 128],
    ]);
  });

  it("has a grey place for a picture that there is none of", async () => {
    expect((await sheetOf([row(null)])).colorAt(16 + 160, 40)).toEqual([216, 216, 212]);
  });

  it("scales what is large, puts what is small in the middle, and aligns a row below", async () => {
    const [large, small] = [await imageFile(1280, 640), await imageFile(80, 40)];
    const { colorAt } = await sheetOf([row(large, small)]);
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
    const rows = [row(null)];
    const plain = await sheetOf(rows, ["a fox"]);
    for (const line of ["<b>a & b</b>", " \n ", "</span>"])
      expect((await sheetOf(rows, [line])).height).toBeGreaterThan((await sheetOf(rows)).height);
    const long = await sheetOf(rows, ["a fox ".repeat(2000)]);
    expect(long.height).toBeLessThan(plain.height + 200);
    const headed = await sheetOf([{ heading: "z-image", cells: row(null).cells }]);
    expect(headed.height).toBeGreaterThan((await sheetOf(rows)).height);
  });

  it("with a picture that cannot be decoded is none", async () => {
    await expect(sheetOf([row("/no/such/image.png")])).rejects.toThrow("it cannot be decoded");
  });
});
