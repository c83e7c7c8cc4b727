import { mkdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { canHaveThumbnails, findImages, MARKER } from "../../src/gallery/find-images.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe("a folder for thumbnails", () => {
  it("is free where there is none, an empty one, or imggen's own", async () => {
    const folder = await temporaryFolder();
    expect(await canHaveThumbnails(path.join(folder, "none"))).toBe(true);
    expect(await canHaveThumbnails(folder)).toBe(true);
    await writeFile(path.join(folder, MARKER), "");
    await writeFile(path.join(folder, "mine.txt"), "");
    expect(await canHaveThumbnails(folder)).toBe(true);
  });

  it("is not where a file or the user's own folder has its name", async () => {
    const folder = await temporaryFolder();
    await writeFile(path.join(folder, "mine.txt"), "");
    expect(await canHaveThumbnails(folder)).toBe(false);
    expect(await canHaveThumbnails(path.join(folder, "mine.txt"))).toBe(false);
    await symlink("mine.txt", path.join(folder, MARKER));
    expect(await canHaveThumbnails(folder)).toBe(false);
  });
});

it("the images of a folder are files that are named as images, in the order of their names", async () => {
  const folder = await temporaryFolder();
  const at = (name: string) => path.join(folder, name);
  for (const name of ["b/deep", "node_modules", "fake-thumbnails", "mine-thumbnails", "folder.png"])
    await mkdir(at(name), { recursive: true });
  await writeFile(at(`mine-thumbnails/${MARKER}`), "");
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
