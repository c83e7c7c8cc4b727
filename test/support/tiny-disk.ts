import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, truncateSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { expectNoKeyBelow } from "./canary.ts";

/** A disk of this many KiB for one test, searched for leaked keys after it. null without permission to mount. */
export function tinyDisk(kibibytes: number): string | null {
  const folder = mkdtempSync(path.join(tmpdir(), "imggen-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${kibibytes}k`, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    rmdirSync(folder);
    return null;
  }
  onTestFinished(() => {
    try {
      expectNoKeyBelow(folder);
    } finally {
      execFileSync("umount", ["--lazy", folder], { stdio: "ignore" });
      rmdirSync(folder);
    }
  });
  return folder;
}

/** The unit in which a disk of memory is filled. */
export const PAGE_BYTES = 4096;

/**
 * Fills a disk to the last byte, but for so many pages.
 * @returns frees the room again
 */
export function fillDisk(folder: string, freePages = 0): () => void {
  const filler = path.join(folder, "filler");
  const file = openSync(filler, "w");
  let bytes = 0;
  try {
    for (;;) bytes += writeSync(file, Buffer.alloc(PAGE_BYTES, 1));
  } catch {
    truncateSync(filler, Math.max(0, bytes - freePages * PAGE_BYTES));
  } finally {
    closeSync(file);
  }
  return () => rmSync(filler, { force: true });
}
