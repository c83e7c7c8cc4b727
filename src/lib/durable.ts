import { mkdirSync, readdirSync, statSync, unlinkSync } from "node:fs";
import { platform } from "node:os";
import path from "node:path";
import { DiskFile, giveToOwnerOfFolder } from "./disk-file.ts";
import { errorCode } from "./error-text.ts";
import { isFolder } from "./read-file.ts";

/** Creates a folder and its parents durably, without Node's recursive mkdir, which hangs in a folder such as /proc. */
export async function makeFolder(folder: string, mode: number): Promise<void> {
  // Checks first, because the folder usually exists and a failed mkdir takes three times as long as the check.
  if (isFolder(folder)) return;
  const missing: string[] = [];
  let parent = folder;
  while (!(await makeSingleFolder(parent, mode))) {
    missing.push(parent);
    const grandparent = path.dirname(parent);
    if (grandparent === parent) break;
    parent = grandparent;
  }
  for (const missingFolder of missing.reverse()) {
    if (!(await makeSingleFolder(missingFolder, mode)))
      throw Object.assign(new Error(`the folder ${missingFolder} cannot be created`), { code: "ENOENT" });
  }
}

/** @returns false if the parent folder is missing */
async function makeSingleFolder(folder: string, mode: number): Promise<boolean> {
  try {
    mkdirSync(folder, { mode });
    giveToOwnerOfFolder(folder);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return false;
    // Checks the folder for every error code, because a read-only file system reports EROFS even if the folder exists.
    if (isFolder(folder)) return true;
    if (code !== "EEXIST") throw error;
    throw Object.assign(new Error(`${folder} is not a folder`), { code: "ENOTDIR", cause: error });
  }
  await syncFolder(path.dirname(folder));
  return true;
}

/** @throws the disk's error */
export function isPresent(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}

export function removeIfPresent(file: string): void {
  try {
    retryWhileInUseSync(() => unlinkSync(file));
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

export function removeIfPossible(file: string): void {
  try {
    removeIfPresent(file);
  } catch {}
}

/** Removes files that were last written before `beforeMs` (milliseconds since the epoch). @throws the disk's error */
export function removeOldFiles(
  folder: string,
  beforeMs: number,
  isKept: (name: string) => boolean = () => false,
): void {
  for (const name of readdirSync(folder).filter((name) => !isKept(name))) {
    const file = path.join(folder, name);
    const { mtimeMs = beforeMs } = statSync(file, { throwIfNoEntry: false }) ?? {};
    if (mtimeMs < beforeMs) removeIfPossible(file);
  }
}

/** @throws the disk's error */
export async function syncFile(file: string): Promise<void> {
  const opened = DiskFile.openToAppend(file);
  await opened.sync().finally(() => opened.close());
}

/** Errors if a folder is write-only, or if its file system cannot sync folders. */
const UNSYNCABLE_ERRORS = new Set(["EACCES", "EPERM", "EINVAL", "ENOTSUP", "EOPNOTSUPP"]);

/** Makes the names of new files, but not their content, survive a power cut. Does nothing on Windows. */
export async function syncFolder(folder: string): Promise<void> {
  if (platform() === "win32") return;
  try {
    const opened = DiskFile.openToRead(folder);
    await opened.sync().finally(() => opened.close());
  } catch (error) {
    if (!UNSYNCABLE_ERRORS.has(errorCode(error) ?? "")) throw error;
  }
}

/** Errors on Windows while another program, such as a virus scanner, has the file open. */
const IN_USE_ERRORS: ReadonlySet<string> = new Set(["EPERM", "EBUSY", "EACCES"]);

const RETRY_TIMEOUT_MS = 2_000;
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 200;

/** Retries a rename or a removal on Windows while the file is in use. @throws the error of the last attempt */
export async function retryWhileInUse<Result>(
  change: () => Result | Promise<Result>,
  osName: NodeJS.Platform = platform(),
  timeoutMs = RETRY_TIMEOUT_MS,
): Promise<Result> {
  const pauses = retryPauses(osName, timeoutMs);
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

export function retryWhileInUseSync<Result>(
  change: () => Result,
  osName: NodeJS.Platform = platform(),
  timeoutMs = RETRY_TIMEOUT_MS,
): Result {
  const pauses = retryPauses(osName, timeoutMs);
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

/** Returns a function that converts an error to the pause before the next attempt; null if no attempt follows. */
function retryPauses(osName: NodeJS.Platform, timeoutMs: number): (error: unknown) => number | null {
  const end = performance.now() + timeoutMs;
  let pauseMs = FIRST_PAUSE_MS;
  return (error) => {
    const remainingMs = end - performance.now();
    if (osName !== "win32" || !IN_USE_ERRORS.has(errorCode(error) ?? "") || remainingMs <= 0) return null;
    const currentPauseMs = Math.min(pauseMs, remainingMs);
    pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
    return currentPauseMs;
  };
}
