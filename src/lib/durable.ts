import { mkdirSync, statSync, unlinkSync } from "node:fs";
import { platform } from "node:os";
import path from "node:path";
import { DiskFile } from "./disk-file.ts";
import { errorCode } from "./error-code.ts";
import { isFolder } from "./read-file.ts";
import { whileInUseSync } from "./while-in-use.ts";

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
    if (!(await makeOne(each, mode))) throw noSuchFolder(each);
  }
}

/** Creates one folder unless it exists; false if its parent is missing. */
async function makeOne(folder: string, mode: number): Promise<boolean> {
  try {
    mkdirSync(folder, { mode });
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

function noSuchFolder(folder: string): Error {
  return Object.assign(new Error(`no folder can be made at ${folder}`), { code: "ENOENT" });
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
    whileInUseSync(() => unlinkSync(file));
  } catch {
    // It stays.
  }
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
