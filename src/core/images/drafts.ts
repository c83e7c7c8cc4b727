import { promises, readdirSync } from "node:fs";
import path from "node:path";
import { removeIfPossible } from "../../lib/durable.ts";
import { draftedFile, randomDigits } from "../../lib/write-whole.ts";
import { isId } from "../../store/ledger-name.ts";

/** Much longer than any download takes. */
const MAX_AGE_MS = 24 * 3600 * 1000;

/** In place of a task's id: for what belongs to no task, or to one that another process may hold. */
const NO_TASK = "imggen";

/**
 * Returns a name for a draft, a hidden file beside the image that it becomes. No other process uses the name.
 * @param heldTask ledger id of the draft's task; null if this process does not hold it
 */
export function draftName(heldTask: string | null): string {
  return `.${heldTask ?? NO_TASK}.${randomDigits()}`;
}

/**
 * Removes the drafts that no process can still need: those of a task that this process holds, and any that are a day
 * old. To be called before this process writes a draft of the task.
 * @param nowMs by the clock of the folder's file system
 */
export async function sweepDrafts(folder: string, heldTask: string | null, nowMs: number): Promise<void> {
  for (const name of readableNames(folder)) {
    const task = draftedFile(name);
    if (task === undefined) continue;
    const file = path.join(folder, name);
    const isOurs = task === NO_TASK || isId(task);
    if (task === heldTask || (isOurs && (await isOld(file, nowMs)))) removeIfPossible(file);
  }
}

/** Synchronous: every submit starts with it, and Node takes a millisecond to load its asynchronous `readdir`. */
function readableNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

async function isOld(file: string, nowMs: number): Promise<boolean> {
  const status = await promises.lstat(file).catch(() => null);
  return status !== null && nowMs - status.mtimeMs > MAX_AGE_MS;
}
