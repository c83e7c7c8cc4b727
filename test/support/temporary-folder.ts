import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { expectNoKeyBelow } from "./canary.ts";

/** A folder of this test's own, removed after it, and searched for leaked keys before. */
export async function temporaryFolder(): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), "imggen-test-"));
  onTestFinished(() => {
    try {
      expectNoKeyBelow(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
  return folder;
}
