import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
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
