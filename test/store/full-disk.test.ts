import { randomBytes } from "node:crypto";
import { open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { Ledger } from "../../src/store/ledger.ts";
import { StateFolderError } from "../../src/store/store-errors.ts";
import { begunTask } from "../support/ledger-world.ts";
import { LINES } from "../support/records.ts";
import { someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { tinyDisk } from "../support/tiny-disk.ts";

const { accepted } = LINES;

const beginIn = (folder: string) => begunTask(new Ledger(folder, systemClock, someProcesses(1).as(1)));

/** Skips the test where no disk can be mounted. */
function disk(kibibytes: number, { skip }: TestContext): string {
  return tinyDisk(kibibytes) ?? skip("needs permission to mount");
}

/** Takes all the room that is left. */
async function fill(folder: string): Promise<void> {
  const handle = await open(path.join(folder, "filler"), "a");
  const block = randomBytes(4096);
  try {
    for (;;) await handle.write(block);
  } catch {
    await handle.close();
  }
}

describe("the reserve", () => {
  it("is reserved before anything is submitted, on disk and for its owner only", async () => {
    const folder = await temporaryFolder();
    await beginIn(folder);
    const { size, blocks, mode } = await stat(path.join(folder, "tasks", ".reserve"));
    expect(size).toBe(64 * 1024);
    expect(blocks * 512).toBeGreaterThanOrEqual(size);
    expect(mode & 0o777).toBe(0o600);
  });

  it("is reserved again for the next task where it was given up", async () => {
    const folder = await temporaryFolder();
    await beginIn(folder);
    await rm(path.join(folder, "tasks", ".reserve"));
    await beginIn(folder);
    expect((await stat(path.join(folder, "tasks", ".reserve"))).size).toBe(64 * 1024);
  });

  it("makes room for a task id on a disk that has filled up since", async (context) => {
    const folder = disk(256, context);
    const task = await beginIn(folder);
    await fill(folder);
    const long = { ...accepted, taskId: "x".repeat(256) };
    for (let round = 0; round < 30; round++) await task.file.record(long);
    expect((await readFile(task.file.path, "utf8")).split(long.taskId)).toHaveLength(31);
    expect(await readdir(path.join(folder, "tasks"))).not.toContain(".reserve");
  });

  it("that does not help is said, not passed over", async (context) => {
    const folder = disk(256, context);
    const task = await beginIn(folder);
    await rm(path.join(folder, "tasks", ".reserve"));
    await fill(folder);
    const recording = (async () => {
      for (let round = 0; round < 30; round++)
        await task.file.record({ ...accepted, taskId: "x".repeat(256) });
    })();
    await expect(recording).rejects.toMatchObject({ code: "ENOSPC" });
  });
});

describe("a disk without room for an intent", () => {
  it.for([4, 32, 72])(
    "of %i KiB is a reason not to submit, and leaves no half record behind",
    async (size, context) => {
      const folder = disk(size, context);
      if (size === 72) await writeFile(path.join(folder, "filler"), Buffer.alloc(8192));
      await expect(beginIn(folder)).rejects.toBeInstanceOf(StateFolderError);
      expect(await readdir(path.join(folder, "tasks", "open")).catch(() => [])).toEqual([]);
    },
  );
});
