import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FileSink } from "../../src/api/file-sink.ts";
import { DiskFile } from "../../src/lib/disk-file.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { pause } from "../support/wait.ts";

const MIB = 1024 * 1024;

async function newFile(): Promise<{ file: string; disk: DiskFile }> {
  const file = path.join(await temporaryFolder(), "file");
  const disk = DiskFile.createExclusive(file, 0o600);
  onTestFinished(() => disk.close());
  return { file, disk };
}

/** The same open file, on a disk that does this in place of a write. */
function doing(
  disk: DiskFile,
  calls: Partial<Pick<DiskFile, "writeChunks">>,
): Pick<DiskFile, "writeChunks" | "sync"> {
  return { writeChunks: (chunks) => disk.writeChunks(chunks), sync: () => disk.sync(), ...calls };
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

describe("a download in flight to the disk", () => {
  it.each([0, 1, 1000, MIB - 1, MIB, MIB + 1, 5 * MIB + 7])(
    "is whole after %i bytes, and hashed",
    async (size) => {
      const { file, disk } = await newFile();
      const bytes = randomBytes(size);
      const sink = new FileSink(disk);
      for (let at = 0; at < size; at += 65_521) sink.write(bytes.subarray(at, at + 65_521));
      expect(await sink.finish()).toBe(sha256(bytes));
      expect(sink.bytes).toBe(size);
      expect((await readFile(file)).equals(bytes)).toBe(true);
    },
  );

  it("waits in memory while the disk is slow, and is written in as few steps as that allows", async () => {
    const { file, disk } = await newFile();
    let letGo = () => {};
    const slow = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const steps: number[] = [];
    const writeChunks = async (chunks: readonly Uint8Array[]) => {
      steps.push(chunks.length);
      await slow;
      await disk.writeChunks(chunks);
    };
    const sink = new FileSink(doing(disk, { writeChunks }));
    const bytes = randomBytes(64 * MIB);
    for (let at = 0; at < bytes.length; at += MIB) sink.write(bytes.subarray(at, at + MIB));
    letGo();
    expect(await sink.finish()).toBe(sha256(bytes));
    expect(steps).toEqual([1, 63]);
    expect((await readFile(file)).equals(bytes)).toBe(true);
  });

  it.each(["ENOSPC", "EIO", "EDQUOT"])("ends with what the disk said: %s", async (code) => {
    const { disk } = await newFile();
    const refusing = async () => {
      throw Object.assign(new Error("no"), { code });
    };
    const sink = new FileSink(doing(disk, { writeChunks: refusing }));
    sink.write(Buffer.alloc(2 * MIB));
    await expect(sink.finish()).rejects.toMatchObject({ code });
    expect(sink.failure).toMatchObject({ code });
    expect(() => sink.write(Buffer.alloc(1))).toThrow("no");
  });

  it("is settled only when nothing is in flight any more, whatever became of it", async () => {
    const { disk } = await newFile();
    let writing = 0;
    const writeChunks = async (chunks: readonly Uint8Array[]) => {
      writing += 1;
      await pause(50);
      writing -= 1;
      await disk.writeChunks(chunks);
    };
    const sink = new FileSink(doing(disk, { writeChunks }));
    for (let sent = 0; sent < 3; sent++) sink.write(Buffer.alloc(MIB));
    expect(writing).toBe(1);
    await sink.abandon();
    expect(writing).toBe(0);
  });
});
