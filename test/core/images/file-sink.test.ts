import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FileSink } from "../../../src/core/images/file-sink.ts";
import { DiskFile } from "../../../src/lib/disk-file.ts";
import { replaceCall } from "../../support/system-calls.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const MIB = 1024 * 1024;

async function newFile(): Promise<{ file: string; disk: DiskFile }> {
  const file = path.join(await temporaryFolder(), "file");
  const disk = DiskFile.createExclusive(file, 0o600);
  onTestFinished(() => disk.close());
  return { file, disk };
}

/** The same open file, on a disk that does this in place of a write or a sync. */
function doing(
  disk: DiskFile,
  calls: Partial<Pick<DiskFile, "writeChunks" | "syncData">>,
): Pick<DiskFile, "writeChunks" | "sync" | "syncData"> {
  return {
    writeChunks: (chunks) => disk.writeChunks(chunks),
    sync: () => disk.sync(),
    syncData: () => disk.syncData(),
    ...calls,
  };
}

/** A sender that can be held back, and remembers whether it is. */
function sender() {
  const flow = { paused: false, pauses: 0, pause: () => {}, resume: () => {} };
  flow.pause = () => {
    flow.paused = true;
    flow.pauses += 1;
  };
  flow.resume = () => {
    flow.paused = false;
  };
  return flow;
}

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

describe("a download on its way to the disk", () => {
  it.each([0, 1, 1000, MIB - 1, MIB, MIB + 1, 5 * MIB + 7])(
    "is whole after %i bytes, and hashed",
    async (size) => {
      const { file, disk } = await newFile();
      const bytes = randomBytes(size);
      const sink = new FileSink(disk);
      for (let at = 0; at < size; at += 65_521) sink.write(bytes.subarray(at, at + 65_521), sender());
      expect(await sink.finish()).toBe(sha256(bytes));
      expect(sink.bytes).toBe(size);
      expect((await readFile(file)).equals(bytes)).toBe(true);
    },
  );

  it("is whole although each chunk is read into the memory of the one before", async () => {
    const { file, disk } = await newFile();
    const bytes = randomBytes(3 * MIB + 5);
    const memory = Buffer.alloc(50_000);
    const sink = new FileSink(disk);
    for (let at = 0; at < bytes.length; at += memory.length) {
      const length = bytes.copy(memory, 0, at);
      sink.write(memory.subarray(0, length), sender());
      if (at % 7 === 0) await new Promise(setImmediate);
    }
    expect(await sink.finish()).toBe(sha256(bytes));
    expect((await readFile(file)).equals(bytes)).toBe(true);
  });

  it("takes no more memory for more bytes", async () => {
    const { disk } = await newFile();
    const memories = new Set<ArrayBufferLike>();
    const writeChunks = async (chunks: readonly Uint8Array[]) => {
      for (const { buffer } of chunks) memories.add(buffer);
      await disk.writeChunks(chunks);
    };
    const sink = new FileSink(doing(disk, { writeChunks }));
    const flow = sender();
    for (let sent = 0; sent < 40; sent++) {
      sink.write(Buffer.alloc(MIB, sent), flow);
      while (flow.paused) await new Promise(setImmediate);
    }
    await sink.finish();
    expect([...memories].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThan(10 * MIB);
  });

  it("holds its sender back while the disk is slow, and lets it go on after", async () => {
    const { file, disk } = await newFile();
    let letGo = () => {};
    const slow = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const writeChunks = async (chunks: readonly Uint8Array[]) => {
      await slow;
      await disk.writeChunks(chunks);
    };
    const sink = new FileSink(doing(disk, { writeChunks }));
    const flow = sender();
    let sent = 0;
    for (; sent < 64 && !flow.paused; sent++) sink.write(Buffer.alloc(MIB, sent), flow);
    expect(sent).toBeLessThanOrEqual(6);
    letGo();
    await sink.finish();
    expect(flow).toMatchObject({ paused: false, pauses: 1 });
    expect(await readFile(file)).toHaveLength(sent * MIB);
  });

  it.each(["ENOSPC", "EIO", "EDQUOT"])("ends with what the disk said: %s", async (code) => {
    const { disk } = await newFile();
    const refusing = async () => {
      throw Object.assign(new Error("no"), { code });
    };
    const sink = new FileSink(doing(disk, { writeChunks: refusing }));
    const flow = sender();
    sink.write(Buffer.alloc(2 * MIB), flow);
    await expect(sink.finish()).rejects.toMatchObject({ code });
    expect(sink.failure).toMatchObject({ code });
    expect(() => sink.write(Buffer.alloc(1), flow)).toThrow("no");
  });

  it("lets its sender go on after the disk refused, so that it can hear of it", async () => {
    const { disk } = await newFile();
    const refusing = async () => {
      throw Object.assign(new Error("no"), { code: "EIO" });
    };
    const sink = new FileSink(doing(disk, { writeChunks: refusing }));
    const flow = sender();
    for (let sent = 0; sent < 8 && !flow.paused; sent++) sink.write(Buffer.alloc(MIB), flow);
    await expect(sink.finish()).rejects.toThrow("no");
    expect(flow).toMatchObject({ paused: false, pauses: 1 });
  });

  it("takes short writes for what they are", async () => {
    const { file, disk } = await newFile();
    replaceCall(
      "writev",
      (writev) =>
        (fd: number, chunks: Uint8Array[], callback: (error: Error | null, bytes: number) => void) =>
          writev(fd, [Buffer.concat(chunks).subarray(0, 100_000)], callback),
    );
    const sink = new FileSink(disk);
    const bytes = randomBytes(2 * MIB);
    for (let at = 0; at < bytes.length; at += 65_521) sink.write(bytes.subarray(at, at + 65_521), sender());
    expect(await sink.finish()).toBe(sha256(bytes));
    expect((await readFile(file)).equals(bytes)).toBe(true);
  });

  it("is settled only when nothing is under way any more, whatever became of it", async () => {
    const { disk } = await newFile();
    let writing = 0;
    const writeChunks = async (chunks: readonly Uint8Array[]) => {
      writing += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
      writing -= 1;
      await disk.writeChunks(chunks);
    };
    const sink = new FileSink(doing(disk, { writeChunks }));
    for (let sent = 0; sent < 3; sent++) sink.write(Buffer.alloc(MIB), sender());
    expect(writing).toBe(1);
    await sink.abandon();
    expect(writing).toBe(0);
  });

  it("sends a large one to the disk on the way, and hears what the disk says to that", async () => {
    const { disk } = await newFile();
    let flushes = 0;
    const syncData = async () => {
      flushes += 1;
      throw Object.assign(new Error("no"), { code: "EIO" });
    };
    const sink = new FileSink(doing(disk, { syncData }));
    for (let sent = 0; sent < 9; sent++) sink.write(Buffer.alloc(MIB), sender());
    await expect(sink.finish()).rejects.toMatchObject({ code: "EIO" });
    expect(flushes).toBe(1);
  });
});
