// This code is separate, because Node takes 3 ms to load node:crypto for random names, and a dry run has none.
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
 * Creates a destination's folder and tests it, because an image that cannot be saved must not be charged.
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

/** Writes, syncs, publishes and removes a test file in the same way as an image. @throws the disk's error */
async function checkWritable(folder: string): Promise<void> {
  const [temporary = "", image = ""] = [1, 2].map(() => path.join(folder, temporaryName(null)));
  try {
    await writeSynced(temporary, Buffer.alloc(4096, 1), 0o600);
    await publishOnce(temporary, image);
  } finally {
    for (const file of [temporary, image]) removeIfPresent(file);
  }
}

/** Maximum age of a temporary file that might be in use; much longer than a download takes. */
const MAX_AGE_MS = 24 * 3600 * 1000;

/** Replaces the task id in a temporary file's name, if this process has not claimed a task. */
const NO_TASK = "imggen";

/** Unique, hidden name of a temporary file. @param claimedTaskId null if this process has not claimed the task */
export function temporaryName(claimedTaskId: string | null): string {
  return `.${claimedTaskId ?? NO_TASK}.${randomDigits()}`;
}

/**
 * Removes temporary files that no process needs: all files of the claimed task, and all files older than a day. It must
 * be called before this process writes a temporary file of the task, because that file would be removed too.
 * @param nowMs current time by the clock of the folder's file system
 */
export async function sweepTemporaryFiles(
  folder: string,
  claimedTaskId: string | null,
  nowMs: number,
): Promise<void> {
  for (const name of readableNames(folder)) {
    const task = temporaryTarget(name);
    if (task === undefined) continue;
    const file = path.join(folder, name);
    const isFromImggen = task === NO_TASK || isId(task);
    if (task === claimedTaskId || (isFromImggen && (await isOld(file, nowMs)))) removeIfPossible(file);
  }
}

/** Reads synchronously, because Node takes a millisecond to load its asynchronous `readdir`. */
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
