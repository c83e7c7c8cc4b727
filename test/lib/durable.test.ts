import { mkdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import {
  isPresent,
  makeFolder,
  removeIfPossible,
  removeIfPresent,
  syncFolder,
} from "../../src/lib/durable.ts";
import { errorCode } from "../../src/lib/error-text.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

async function newFile(): Promise<string> {
  const file = path.join(await temporaryFolder(), "file");
  await writeFile(file, "");
  return file;
}

describe("folders", () => {
  it("are made with their parents", async () => {
    const folder = path.join(await temporaryFolder(), "a", "b", "c");
    await makeFolder(folder, 0o700);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(path.dirname(folder))).mode & 0o777).toBe(0o700);
  });

  it("are left as they are where they exist", async () => {
    const folder = path.join(await temporaryFolder(), "a");
    await mkdir(folder, { mode: 0o755 });
    await makeFolder(folder, 0o700);
    expect((await stat(folder)).mode & 0o777).toBe(0o755);
  });

  it("cannot be made below a file", async () => {
    const file = await newFile();
    await expect(makeFolder(path.join(file, "a"), 0o700)).rejects.toMatchObject({ code: "ENOTDIR" });
  });
});

describe("asking whether a file is there", () => {
  it("says so", async () => {
    const file = await newFile();
    expect(isPresent(file)).toBe(true);
    expect(isPresent(`${file}-2`)).toBe(false);
  });

  it("fails where the disk does not say", async () => {
    const below = path.join(await newFile(), "below");
    expect(() => isPresent(below)).toThrow(expect.objectContaining({ code: "ENOTDIR" }));
  });
});

describe("removing what may not be there", () => {
  it("removes a file, and does not mind its absence", async () => {
    const file = await newFile();
    removeIfPresent(file);
    removeIfPresent(file);
    await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("does not remove a folder", async () => {
    const folder = path.join(await temporaryFolder(), "folder");
    await mkdir(folder);
    await writeFile(path.join(folder, "kept"), "");
    expect(() => removeIfPresent(folder)).toThrow();
    expect((await stat(folder)).isDirectory()).toBe(true);
  });

  it("takes no for an answer where it is told to", async () => {
    const folder = await temporaryFolder();
    removeIfPossible(folder);
    expect((await stat(folder)).isDirectory()).toBe(true);
    const file = await newFile();
    removeIfPossible(file);
    await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("an error's code", () => {
  it.each([
    [Object.assign(new Error("full"), { code: "ENOSPC" }), "ENOSPC"],
    [Object.assign(new Error("odd"), { code: 7 }), undefined],
    [new Error("none"), undefined],
    [{ code: "ENOSPC" }, undefined],
    ["ENOSPC", undefined],
    [undefined, undefined],
  ])("of %s is %s", (error, code) => {
    expect(errorCode(error)).toBe(code);
  });
});

describe("syncing a folder", () => {
  it("works only where there is one", async () => {
    const folder = await temporaryFolder();
    await expect(syncFolder(folder)).resolves.toBeUndefined();
    await expect(syncFolder(path.join(folder, "none"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});
