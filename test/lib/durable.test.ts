import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createExclusive,
  makeFolder,
  removeIfPresent,
  writeAll,
  writeChunks,
} from "../../src/lib/durable.ts";
import { errorCode } from "../../src/lib/error-code.ts";
import { temporaryFolder } from "../support/program.ts";
import { tinyDisk } from "../support/tiny-disk.ts";

async function newFile(): Promise<{ file: string; handle: FileHandle }> {
  const file = path.join(await temporaryFolder(), "file");
  const handle = await createExclusive(file, 0o600);
  onTestFinished(() => handle.close());
  return { file, handle };
}

/** The same open file, on a disk that takes no more than this many bytes of several chunks at once. */
function takingOfChunks(bytes: number, handle: FileHandle): FileHandle {
  const writev = (chunks: readonly Uint8Array[]) => handle.write(Buffer.concat(chunks), 0, bytes);
  return new Proxy(handle, {
    get: (real, name) => {
      const value = name === "writev" ? writev : Reflect.get(real, name, real);
      return typeof value === "function" ? value.bind(real) : value;
    },
  });
}

/** The same open file, on a disk that takes no more than this many bytes at a time. */
function takingAtMost(bytes: number, handle: FileHandle): FileHandle {
  return new Proxy(handle, {
    get: (real, name) =>
      name === "write"
        ? (buffer: Uint8Array, offset: number, length: number, position: number | null) =>
            real.write(buffer, offset, Math.min(length, bytes), position)
        : Reflect.get(real, name, real),
  });
}

describe("creating a file for oneself alone", () => {
  it("refuses a name that exists", async () => {
    const { file } = await newFile();
    await expect(createExclusive(file, 0o600)).rejects.toMatchObject({ code: "EEXIST" });
  });

  it("gives the file its mode", async () => {
    const { file } = await newFile();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("lets exactly one of many win", async () => {
    const file = path.join(await temporaryFolder(), "file");
    const tries = await Promise.allSettled(Array.from({ length: 16 }, () => createExclusive(file, 0o600)));
    const won = tries.filter((each) => each.status === "fulfilled");
    for (const { value } of won) await value.close();
    expect(won).toHaveLength(1);
  });
});

describe("writing every byte", () => {
  it("goes on after a short write", async () => {
    const { file, handle } = await newFile();
    await writeAll(takingAtMost(3, handle), Buffer.from("all of these bytes"));
    expect(await readFile(file, "utf8")).toBe("all of these bytes");
  });

  it("goes on after a short write at a position", async () => {
    const { file, handle } = await newFile();
    await writeAll(handle, Buffer.from("0123456789"));
    await writeAll(takingAtMost(2, handle), Buffer.from("abcde"), 3);
    expect(await readFile(file, "utf8")).toBe("012abcde89");
  });

  it("ends with EIO, not in a circle, where the disk takes nothing", async () => {
    const { handle } = await newFile();
    await expect(writeAll(takingAtMost(0, handle), Buffer.from("x"))).rejects.toMatchObject({ code: "EIO" });
  });

  it("says ENOSPC where the disk is full", async ({ skip }) => {
    const disk = tinyDisk(64);
    if (disk === null) return skip("no disk can be mounted here");
    const handle = await open(path.join(disk, "file"), constants.O_CREAT | constants.O_RDWR);
    const writing = writeAll(handle, Buffer.alloc(100 * 1024)).finally(() => handle.close());
    await expect(writing).rejects.toMatchObject({ code: "ENOSPC" });
  });
});

describe("writing every byte of several chunks", () => {
  const chunks = ["all ", "of ", "", "these bytes"].map((text) => Buffer.from(text));

  it.each([0, 1, 4, 5, 7, 8, 17, 18])("goes on after the first %i", async (taken) => {
    const { file, handle } = await newFile();
    await writeChunks(takingOfChunks(taken, handle), chunks);
    expect(await readFile(file, "utf8")).toBe("all of these bytes");
  });
});

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
    const { file } = await newFile();
    await expect(makeFolder(path.join(file, "a"), 0o700)).rejects.toMatchObject({ code: "ENOTDIR" });
  });
});

describe("removing what may not be there", () => {
  it("removes a file, and does not mind its absence", async () => {
    const { file } = await newFile();
    await removeIfPresent(file);
    await removeIfPresent(file);
    await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("does not remove a folder", async () => {
    const folder = path.join(await temporaryFolder(), "folder");
    await mkdir(folder);
    await writeFile(path.join(folder, "kept"), "");
    await expect(removeIfPresent(folder)).rejects.toThrow();
    expect((await stat(folder)).isDirectory()).toBe(true);
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
