import { readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { DiskFile } from "../../src/lib/disk-file.ts";
import { replaceCall } from "../support/system-calls.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { tinyDisk } from "../support/tiny-disk.ts";

async function newFile(): Promise<{ path: string; file: DiskFile }> {
  const name = path.join(await temporaryFolder(), "file");
  const file = DiskFile.createExclusive(name, 0o600);
  onTestFinished(() => file.close());
  return { path: name, file };
}

/** A disk that takes no more than this many bytes at a time. */
function takeAtMost(most: number): void {
  replaceCall("writeSync", (writeSync) => (fd: number, bytes: Uint8Array, offset: number, length: number) => {
    return writeSync(fd, bytes, offset, Math.min(length, most));
  });
}

/** A disk that takes no more than this many bytes of several chunks at once. */
function takeOfChunks(most: number): void {
  replaceCall(
    "writev",
    (writev) =>
      (fd: number, chunks: Uint8Array[], callback: (error: Error | null, bytesWritten: number) => void) =>
        writev(fd, [Buffer.concat(chunks).subarray(0, most)], callback),
  );
}

const modeOf = async (file: string) => (await stat(file)).mode & 0o777;

describe("creating a file for oneself alone", () => {
  it("refuses a name that exists", async () => {
    const { path } = await newFile();
    expect(() => DiskFile.createExclusive(path, 0o600)).toThrow(expect.objectContaining({ code: "EEXIST" }));
  });

  it("lets exactly one of many win while other work goes on", async () => {
    const name = path.join(await temporaryFolder(), "file");
    const tries = await Promise.allSettled(
      Array.from({ length: 16 }, () => DiskFile.createInBackground(name, 0o600)),
    );
    const won = tries.filter((each) => each.status === "fulfilled");
    for (const { value } of won) value.close();
    expect(won).toHaveLength(1);
    expect(await modeOf(name)).toBe(0o600);
    await expect(DiskFile.createInBackground(name, 0o600)).rejects.toMatchObject({ code: "EEXIST" });
  });

  it("gives the file its mode, and another when asked to", async () => {
    const { path, file } = await newFile();
    expect(await modeOf(path)).toBe(0o600);
    await file.setMode(0o644);
    expect(await modeOf(path)).toBe(0o644);
  });
});

describe("opening a file that is there", () => {
  it("fails where it is not", async () => {
    const none = path.join(await temporaryFolder(), "none");
    expect(() => DiskFile.openToAppend(none)).toThrow(expect.objectContaining({ code: "ENOENT" }));
    expect(() => DiskFile.openToRead(none)).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });

  it("to append writes to its end, whoever else does", async () => {
    const name = path.join(await temporaryFolder(), "file");
    await writeFile(name, "one ");
    const [a, b] = [DiskFile.openToAppend(name), DiskFile.openToAppend(name)];
    a.write(Buffer.from("two "));
    b.write(Buffer.from("three "));
    a.write(Buffer.from("four"));
    a.close();
    b.close();
    expect(await readFile(name, "utf8")).toBe("one two three four");
  });
});

const CHUNKS = ["all ", "of ", "", "these bytes"].map((text) => Buffer.from(text));

describe.each([
  { what: "one chunk", take: takeAtMost, write: async (file: DiskFile) => file.write(Buffer.concat(CHUNKS)) },
  { what: "several chunks", take: takeOfChunks, write: (file: DiskFile) => file.writeChunks(CHUNKS) },
])("writing every byte of $what", ({ take, write }) => {
  it.each([1, 4, 5, 7, 8, 17, 18])("goes on where %i are taken at once", async (taken) => {
    const { path, file } = await newFile();
    take(taken);
    await write(file);
    expect(await readFile(path, "utf8")).toBe("all of these bytes");
  });

  it("ends with EIO, not in a circle, where the disk takes nothing", async () => {
    const { file } = await newFile();
    take(0);
    await expect(write(file)).rejects.toMatchObject({ code: "EIO" });
  });
});

it("writing says ENOSPC where the disk is full", async ({ skip }) => {
  const disk = tinyDisk(64);
  if (disk === null) return skip("needs permission to mount");
  const file = DiskFile.createExclusive(path.join(disk, "file"), 0o600);
  onTestFinished(() => file.close());
  expect(() => file.write(Buffer.alloc(100 * 1024))).toThrow(expect.objectContaining({ code: "ENOSPC" }));
});

it("reading goes on where a read returns less than was asked for, to the end of the file", async () => {
  const { file } = await newFile();
  file.write(Buffer.from("0123456789"));
  replaceCall(
    "readSync",
    (readSync) => (fd: number, buffer: Buffer, offset: number, length: number, position: number) =>
      readSync(fd, buffer, offset, Math.min(length, 2), position),
  );
  expect(file.read(3, 5).toString()).toBe("34567");
  expect(file.read(8, 100).toString()).toBe("89");
  expect(file.read(10, 1)).toHaveLength(0);
  expect(file.size).toBe(10);
});

it("a closed file is closed once, and touches no file that has its number by then", async () => {
  const { path, file } = await newFile();
  file.close();
  const other = DiskFile.createExclusive(`${path}-2`, 0o600);
  file.close();
  expect(() => file.write(Buffer.from("x"))).toThrow(expect.objectContaining({ code: "EBADF" }));
  await expect(file.sync()).rejects.toMatchObject({ code: "EBADF" });
  await expect(file.writeChunks([Buffer.from("x")])).rejects.toMatchObject({ code: "EBADF" });
  other.write(Buffer.from("own"));
  other.close();
  expect(await readFile(`${path}-2`, "utf8")).toBe("own");
});
