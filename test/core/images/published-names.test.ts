import { mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { RunFileNames } from "../../../src/core/images/published-names.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const BEGAN = Date.UTC(2026, 0, 31, 12);
const LATER = BEGAN + 5000;

async function names() {
  const folder = await temporaryFolder();
  const file = path.join(folder, "fox.png");
  const put = async (atMs: number, name = "fox.png") => {
    await writeFile(path.join(folder, name), "old");
    await utimes(path.join(folder, name), atMs / 1000, atMs / 1000);
  };
  return { folder, file, put, published: new RunFileNames(BEGAN) };
}

describe("under --overwrite, a name", () => {
  it("is taken where nothing has it, or an old file", async () => {
    const { file, put, published } = await names();
    expect(await published.take(file, LATER)).toBe(true);
    await published.giveBack(file);
    await put(BEGAN - 1000);
    expect(await published.take(file, LATER)).toBe(true);
  });

  it("goes to one image of a run, however many want it at once", async () => {
    const { file, published } = await names();
    const wishes = await Promise.all(Array.from({ length: 8 }, () => published.take(file, LATER)));
    expect(wishes.filter(Boolean)).toHaveLength(1);
  });

  it("goes to one image of a run, however it is spelled", async () => {
    const { folder, published } = await names();
    await mkdir(path.join(folder, "a"));
    await symlink("a", path.join(folder, "b"));
    expect(await published.take(path.join(folder, "a", "caf\u00e9.png"), LATER)).toBe(true);
    expect(await published.take(path.join(folder, "b", "cafe\u0301.png"), LATER)).toBe(false);
    expect(await published.take(path.join(folder, "a", "CAF\u00c9.PNG"), LATER)).toBe(false);
  });

  it("stays with a file that came after the run began: it may be another process's image", async () => {
    const { file, put, published } = await names();
    await put(BEGAN + 1000);
    expect(await published.take(file, LATER)).toBe(false);
  });

  it("stays with a file that came after the task was accepted, when that is resumed later", async () => {
    const { file, put, published } = await names();
    await put(BEGAN - 1000);
    expect(await published.take(file, BEGAN - 2000)).toBe(false);
  });

  it("stays with an image of an earlier run of the batch, while that is there", async () => {
    const { file, put, published } = await names();
    await published.addEarlier(file);
    await put(BEGAN - 1000);
    expect(await published.take(file, LATER)).toBe(false);
    const gone = path.join(path.dirname(file), "gone.png");
    await published.addEarlier(gone);
    expect(await published.take(gone, LATER)).toBe(true);
  });

  it("stays with a folder", async () => {
    const { file, published } = await names();
    await mkdir(file);
    await utimes(file, 1, 1);
    expect(await published.take(file, LATER)).toBe(false);
  });
});
