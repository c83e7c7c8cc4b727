import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { Ledger } from "../../src/store/ledger.ts";
import { StateFolderError } from "../../src/store/store-errors.ts";
import { begunTask } from "../support/ledger-world.ts";
import { LINES } from "../support/records.ts";
import { someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { fillDisk, tinyDisk } from "../support/tiny-disk.ts";

const { accepted } = LINES;

const beginIn = (folder: string) => begunTask(new Ledger(folder, systemClock, someProcesses(1).as(1)));

/** Skips the test where no disk can be mounted. */
function disk(kibibytes: number, { skip }: TestContext): string {
  return tinyDisk(kibibytes) ?? skip("needs permission to mount");
}

const reserveIn = (folder: string) => path.join(folder, "tasks", ".reserve");

describe("the reserve", () => {
  it("is reserved before anything is submitted, on disk and for its owner only, and again once it was given up", async () => {
    const folder = await temporaryFolder();
    for (const _task of [1, 2]) {
      await beginIn(folder);
      const { size, blocks, mode } = await stat(reserveIn(folder));
      expect([size, mode & 0o777]).toEqual([64 * 1024, 0o600]);
      expect(blocks * 512).toBeGreaterThanOrEqual(size);
      await rm(reserveIn(folder));
    }
  });

  it("makes room for a task id on a disk that has filled up since", async (context) => {
    const folder = disk(256, context);
    const task = await beginIn(folder);
    fillDisk(folder);
    const long = { ...accepted, taskId: "x".repeat(256) };
    for (let round = 0; round < 30; round++) await task.file.record(long);
    expect((await readFile(task.file.path, "utf8")).split(long.taskId)).toHaveLength(31);
    expect(await readdir(path.join(folder, "tasks"))).not.toContain(".reserve");
  });

  it("that does not help is said, not passed over", async (context) => {
    const folder = disk(256, context);
    const task = await beginIn(folder);
    await rm(reserveIn(folder));
    fillDisk(folder);
    const recording = (async () => {
      for (let round = 0; round < 30; round++)
        await task.file.record({ ...accepted, taskId: "x".repeat(256) });
    })();
    await expect(recording).rejects.toMatchObject({ code: "ENOSPC" });
  });
});

it.for([4, 32, 72])(
  "a disk without room for an intent of %i KiB is a reason not to submit, and leaves no half record behind",
  async (size, context) => {
    const folder = disk(size, context);
    if (size === 72) await writeFile(path.join(folder, "filler"), Buffer.alloc(8192));
    await expect(beginIn(folder)).rejects.toBeInstanceOf(StateFolderError);
    expect(await readdir(path.join(folder, "tasks", "open")).catch(() => [])).toEqual([]);
  },
);
