// Apart from what a dry run needs: Node takes 3 ms to load node:crypto, which random names need.
import { promises, readdirSync } from "node:fs";
import path from "node:path";
import { makeFolder, removeIfPossible, removeIfPresent } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import { publishOnce } from "../../lib/publish.ts";
import { randomDigits, temporaryTarget, writeSynced } from "../../lib/write-whole.ts";
import { isId } from "../../store/ledger-name.ts";
import type { Destination } from "../../task/intent.ts";
import { SaveFailedError } from "../errors.ts";
import { CHOOSE_ANOTHER } from "./destination.ts";

/**
 * Makes a destination ready: creates its folder, and saves a file there and removes it, so that nothing is charged for an
 * image that cannot be saved.
 * @throws SaveFailedError
 */
export async function prepareDestination(destination: Destination): Promise<void> {
  if (destination.kind === "stdout") return;
  const folder = destination.kind === "file" ? path.dirname(destination.path) : destination.folder;
  try {
    await makeFolder(folder, 0o777);
    await sweepTemporaryFiles(folder, null, Date.now());
    await checkWritable(folder);
  } catch (error) {
    throw new SaveFailedError(`Images cannot be written to ${folder}: ${errorText(error)}.`, {
      hint: CHOOSE_ANOTHER,
      cause: error,
    });
  }
}

/** Does what a save does: a draft to its last byte on the disk, and its name. @throws the disk's error */
async function checkWritable(folder: string): Promise<void> {
  const [temporary = "", image = ""] = [1, 2].map(() => path.join(folder, temporaryName(null)));
  try {
    await writeSynced(temporary, Buffer.alloc(4096, 1), 0o600);
    await publishOnce(temporary, image);
  } finally {
    for (const file of [temporary, image]) removeIfPresent(file);
  }
}

/** Much longer than any download takes. */
const MAX_AGE_MS = 24 * 3600 * 1000;

/** In place of a task's id: for what belongs to no task, or to one that another process may hold. */
const NO_TASK = "imggen";

/**
 * Returns a name for a draft, a hidden file beside the image that it becomes. No other process uses the name.
 * @param heldTaskId ledger id of the temporary file's task; null if this process does not hold it
 */
export function temporaryName(heldTaskId: string | null): string {
  return `.${heldTaskId ?? NO_TASK}.${randomDigits()}`;
}

/**
 * Removes the drafts that no process can still need: those of a task that this process holds, and any that are a day
 * old. To be called before this process writes a draft of the task.
 * @param nowMs by the clock of the folder's file system
 */
export async function sweepTemporaryFiles(
  folder: string,
  heldTaskId: string | null,
  nowMs: number,
): Promise<void> {
  for (const name of readableNames(folder)) {
    const task = temporaryTarget(name);
    if (task === undefined) continue;
    const file = path.join(folder, name);
    const isOurs = task === NO_TASK || isId(task);
    if (task === heldTaskId || (isOurs && (await isOld(file, nowMs)))) removeIfPossible(file);
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
