import { promises } from "node:fs";
import path from "node:path";
import { removeIfPresent } from "../lib/durable.ts";

/** A draft is written and published within moments; one of this age was left by a killed process. */
const OLD_MS = 600_000;

/** Removes old drafts. If a process still wanted to publish one, that fails, and nothing was sent. */
export async function removeOld(folder: string, names: readonly string[], nowMs: number): Promise<void> {
  for (const name of names) {
    const file = path.join(folder, name);
    const writtenMs = (await promises.stat(file).catch(() => null))?.mtimeMs;
    if (writtenMs !== undefined && nowMs - writtenMs > OLD_MS) removeIfPresent(file);
  }
}
