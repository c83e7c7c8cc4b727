import { mkdirSync, readdirSync, statSync, unlinkSync } from "node:fs";
import { platform } from "node:os";
import path from "node:path";
import { DiskFile, giveToOwnerOfFolder } from "./disk-file.ts";
import { errorCode } from "./error-text.ts";
import { isFolder } from "./read-file.ts";

/**
 * Creates a folder and its missing parents and makes each durable. Not with Node's recursive mkdir: below a folder that
 * answers ENOENT to every new name, as /proc does, Node's never returns.
 */
export async function makeFolder(folder: string, mode: number): Promise<void> {
  // It usually exists, and checking takes a third of the time of a failed mkdir.
  if (isFolder(folder)) return;
  const missing: string[] = [];
  let parent = folder;
  while (!(await makeOne(parent, mode))) {
    missing.push(parent);
    const above = path.dirname(parent);
    if (above === parent) break;
    parent = above;
  }
  for (const each of missing.reverse()) {
    if (!(await makeOne(each, mode)))
      throw Object.assign(new Error(`no folder can be made at ${each}`), { code: "ENOENT" });
  }
}

/** Creates one folder unless it exists; false if its parent is missing. */
async function makeOne(folder: string, mode: number): Promise<boolean> {
  try {
    mkdirSync(folder, { mode });
    giveToOwnerOfFolder(folder);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return false;
    // A read-only file system reports EROFS even if the folder exists.
    if (isFolder(folder)) return true;
    if (code !== "EEXIST") throw error;
    throw Object.assign(new Error(`${folder} is not a folder`), { code: "ENOTDIR", cause: error });
  }
  await syncFolder(path.dirname(folder));
  return true;
}

/**
 * Whether a file exists, without the cost of creating an error.
 * @throws if the disk cannot tell
 */
export function isPresent(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}

/** Removes a file if it is there. */
export function removeIfPresent(file: string): void {
  try {
    whileInUseSync(() => unlinkSync(file));
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

/** Removes a file if possible; for files that do no harm if they stay. */
export function removeIfPossible(file: string): void {
  try {
    removeIfPresent(file);
  } catch {
    // It stays.
  }
}

/** Removes the files of a folder that were written before a time, in milliseconds since the epoch. @throws the disk's error */
export function removeOldFiles(
  folder: string,
  beforeMs: number,
  kept: ReadonlySet<string> = new Set(),
): void {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    if (!kept.has(name) && statSync(file).mtimeMs < beforeMs) removeIfPossible(file);
  }
}

/** Makes the bytes of a file survive a power cut. @throws the disk's error */
export async function syncFile(file: string): Promise<void> {
  const opened = DiskFile.openToAppend(file);
  await opened.sync().finally(() => opened.close());
}

/** Errors of folders that can be written to but not read, or whose file system cannot sync folders. */
const NOT_SYNCED = new Set(["EACCES", "EPERM", "EINVAL", "ENOTSUP", "EOPNOTSUPP"]);

/**
 * Makes a new name in a folder survive a power cut, if the folder can be synced; the file's own bytes are synced in any
 * case. Windows has no such call and needs none.
 */
export async function syncFolder(folder: string): Promise<void> {
  if (platform() === "win32") return;
  try {
    const opened = DiskFile.openToRead(folder);
    await opened.sync().finally(() => opened.close());
  } catch (error) {
    if (!NOT_SYNCED.has(errorCode(error) ?? "")) throw error;
  }
}

/** Errors of a rename or an unlink on Windows while a virus scanner or an indexer has the file open. */
const IN_USE: ReadonlySet<string> = new Set(["EPERM", "EBUSY", "EACCES"]);

const PATIENCE_MS = 2_000;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

/**
 * Renames or removes a file. On Windows this is retried for up to 2 s while the file may be in use; other systems rename
 * and remove open files, so there the first error is final.
 * @param patienceMs how long it is retried, in milliseconds
 * @throws the error of the last attempt
 */
export async function whileInUse<Result>(
  change: () => Result | Promise<Result>,
  onPlatform: NodeJS.Platform = platform(),
  patienceMs = PATIENCE_MS,
): Promise<Result> {
  const pauses = pausesOn(onPlatform, patienceMs);
  for (;;) {
    try {
      return await change();
    } catch (error) {
      const pauseMs = pauses(error);
      if (pauseMs === null) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** Does what `whileInUse` does, synchronously. */
export function whileInUseSync<Result>(
  change: () => Result,
  onPlatform: NodeJS.Platform = platform(),
  patienceMs = PATIENCE_MS,
): Result {
  const pauses = pausesOn(onPlatform, patienceMs);
  for (;;) {
    try {
      return change();
    } catch (error) {
      const pauseMs = pauses(error);
      if (pauseMs === null) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}

/** How long to wait after an error, milliseconds; null if another attempt is pointless. */
function pausesOn(onPlatform: NodeJS.Platform, patienceMs: number): (error: unknown) => number | null {
  const end = performance.now() + patienceMs;
  let pauseMs = FIRST_PAUSE_MS;
  return (error) => {
    const left = end - performance.now();
    if (onPlatform !== "win32" || !IN_USE.has(errorCode(error) ?? "") || left <= 0) return null;
    const now = Math.min(pauseMs, left);
    pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    return now;
  };
}
