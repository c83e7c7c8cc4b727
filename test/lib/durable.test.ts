import { chmod, stat, writeFile } from "node:fs/promises";
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

const modeOf = async (file: string) => (await stat(file)).mode & 0o777;

describe("folders", () => {
  it("are made with their parents, and left as they are where they exist", async () => {
    const folder = path.join(await temporaryFolder(), "a", "b", "c");
    await makeFolder(folder, 0o700);
    expect([await modeOf(folder), await modeOf(path.dirname(folder))]).toEqual([0o700, 0o700]);
    await chmod(folder, 0o755);
    await makeFolder(folder, 0o700);
    expect(await modeOf(folder)).toBe(0o755);
  });

  it("cannot be made below a file", async () => {
    const file = await newFile();
    await expect(makeFolder(path.join(file, "a"), 0o700)).rejects.toMatchObject({ code: "ENOTDIR" });
  });
});

it("a file is there or not, or the disk does not say", async () => {
  const file = await newFile();
  expect([isPresent(file), isPresent(`${file}-2`)]).toEqual([true, false]);
  expect(() => isPresent(path.join(file, "below"))).toThrow(expect.objectContaining({ code: "ENOTDIR" }));
});

describe("removing what may not be there", () => {
  it("removes a file, does not mind its absence, and removes no folder", async () => {
    const file = await newFile();
    removeIfPresent(file);
    removeIfPresent(file);
    await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
    const folder = path.dirname(file);
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

it.each([
  [Object.assign(new Error("full"), { code: "ENOSPC" }), "ENOSPC"],
  [Object.assign(new Error("odd"), { code: 7 }), undefined],
  [new Error("none"), undefined],
  [{ code: "ENOSPC" }, undefined],
  ["ENOSPC", undefined],
  [undefined, undefined],
])("an error's code of %s is %s", (error, code) => {
  expect(errorCode(error)).toBe(code);
});

it("syncing a folder works only where there is one", async () => {
  const folder = await temporaryFolder();
  await expect(syncFolder(folder)).resolves.toBeUndefined();
  await expect(syncFolder(path.join(folder, "none"))).rejects.toMatchObject({ code: "ENOENT" });
});
