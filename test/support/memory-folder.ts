import { readFileSync, statfsSync } from "node:fs";
import { expect } from "vitest";

/** A memory file system of Linux. */
const MEMORY = "/dev/shm";
const MIN_FREE_BYTES = 512 * 1024 * 1024;

/** Tests with files on the disk, because disk faults and other programs are their subject. */
const ON_DISK = /[/\\]test[/\\](faults|interop)[/\\]/;

/** Whether scripts can run in the memory file system, and it has enough room. */
function canUseMemory(): boolean {
  try {
    const mount = readFileSync("/proc/mounts", "utf8")
      .match(/^\S+ \/dev\/shm \S+ (\S+)/m)?.[1]
      ?.split(",");
    if (mount === undefined || mount.includes("noexec") || mount.includes("ro")) return false;
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > MIN_FREE_BYTES;
  } catch {
    return false;
  }
}

// Runs before each test file; a worker keeps its environment from one to the next.
process.env.IMGGEN_TEST_DISK ??= process.env.TMPDIR ?? "";
const isInMemory = !ON_DISK.test(expect.getState().testPath ?? "") && canUseMemory();
const folder = isInMemory ? MEMORY : process.env.IMGGEN_TEST_DISK;
if (folder === "") delete process.env.TMPDIR;
else process.env.TMPDIR = folder;
