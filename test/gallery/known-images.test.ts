import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { findImages, isFreeForThumbnails, isLink, KnownImages } from "../../src/gallery/known-images.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const KNOWN = { bytes: 9, modifiedMs: 5, sha256: "a".repeat(64), width: 64, height: 48 };
const FOX = { name: "fox.png", bytes: 9, modifiedMs: 5 };

/** A folder whose index is this text. */
async function withIndex(index: unknown): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(path.join(folder, "index.json"), typeof index === "string" ? index : JSON.stringify(index));
  return folder;
}

const read = async (images: unknown) => KnownImages.read(await withIndex({ v: 1, images }));

describe("what is known of a folder's images", () => {
  it("is known of an unchanged file alone", async () => {
    const images = await read({ "fox.png": KNOWN });
    expect(images.get(FOX)).toEqual(KNOWN);
    for (const change of [{ name: "owl.png" }, { bytes: 8 }, { modifiedMs: 6 }])
      expect(images.get({ ...FOX, ...change })).toBeNull();
  });

  it.each([
    null,
    "fox",
    [],
    { ...KNOWN, sha256: "../../precious" },
    { ...KNOWN, sha256: 7 },
    { ...KNOWN, width: "64" },
    { bytes: 9, modifiedMs: 5 },
  ])("is nothing that cannot be: %j", async (image) => {
    expect((await read({ "fox.png": image })).get(FOX)).toBeNull();
  });

  it.each([
    "",
    "{",
    "[]",
    "null",
    { v: 2, images: { "fox.png": KNOWN } },
    { v: 1, images: [KNOWN] },
    { v: 1 },
  ])("is nothing with the index %j", async (index) => {
    const folder = await withIndex(index);
    expect((await KnownImages.read(folder)).get(FOX)).toBeNull();
    expect(await isFreeForThumbnails(folder)).toBe(false);
  });

  it("is nothing in a folder that is a link, which may lead anywhere", async () => {
    const folder = await withIndex({ v: 1, images: { "fox.png": KNOWN } });
    const link = path.join(await temporaryFolder(), "link");
    await symlink(folder, link);
    expect([await isLink(link), await isLink(folder), await isLink(`${link}2`)]).toEqual([
      true,
      false,
      false,
    ]);
    expect((await KnownImages.read(link)).get(FOX)).toBeNull();
  });

  it("is written of those that are there, and forgotten of the rest", async () => {
    const folder = await temporaryFolder();
    const images = await KnownImages.read(folder);
    images.set("fox.png", KNOWN);
    images.set("owl.png", KNOWN);
    await images.write(["fox.png", "new.png"]);
    expect(JSON.parse(await readFile(path.join(folder, "index.json"), "utf8"))).toEqual({
      v: 1,
      images: { "fox.png": KNOWN },
    });
    expect((await KnownImages.read(folder)).get(FOX)).toEqual(KNOWN);
  });
});

describe("a folder for thumbnails", () => {
  it("is free where there is none, an empty one, or imggen's own", async () => {
    const folder = await temporaryFolder();
    expect(await isFreeForThumbnails(path.join(folder, "none"))).toBe(true);
    expect(await isFreeForThumbnails(folder)).toBe(true);
    expect(await isFreeForThumbnails(await withIndex({ v: 1, images: {} }))).toBe(true);
  });

  it("is not where a file or the user's own folder has its name", async () => {
    const folder = await temporaryFolder();
    await writeFile(path.join(folder, "mine.txt"), "");
    expect(await isFreeForThumbnails(folder)).toBe(false);
    expect(await isFreeForThumbnails(path.join(folder, "mine.txt"))).toBe(false);
  });
});

it("the images of a folder are files that are named as images, in the order of their names", async () => {
  const folder = await temporaryFolder();
  const at = (name: string) => path.join(folder, name);
  for (const name of ["b/deep", "node_modules", "fake-thumbnails", "mine-thumbnails", "folder.png"])
    await mkdir(at(name), { recursive: true });
  await writeFile(at("mine-thumbnails/index.json"), '{"v":1,"images":{}}');
  const files = ["z.PNG", "b/deep/a.webp", "a.jpeg", "notes.txt", ".hidden.png", "node_modules/x.png"];
  for (const name of [...files, "fake-thumbnails/c.png", "mine-thumbnails/d.png"])
    await writeFile(at(name), "12");
  await symlink("nowhere", at("gone.png"));
  await symlink("z.PNG", at("link.png"));
  const found = await findImages(folder);
  const names = ["a.jpeg", "b/deep/a.webp", "fake-thumbnails/c.png", "link.png", "z.PNG"];
  expect(found.map(({ name }) => name)).toEqual(names);
  expect(found[1]).toEqual({
    name: "b/deep/a.webp",
    path: at("b/deep/a.webp"),
    bytes: 2,
    modifiedMs: expect.any(Number),
  });
});
