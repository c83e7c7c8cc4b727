import { constants } from "node:fs";
import { type FileHandle, mkdir, open, stat, unlink } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "./error-code.ts";
import { syncFolder } from "./sync-folder.ts";

/** Creates a file that must not exist yet; whoever gets the handle is the only one. @throws EEXIST */
export function createExclusive(file: string, mode: number): Promise<FileHandle> {
  return open(file, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, mode);
}

/** Writes every byte: a single write may legally take only some of them (a disk that fills up, a signal). */
export async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number | null = null) {
  let done = 0;
  while (done < bytes.length) {
    const at = position === null ? null : position + done;
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at);
    if (bytesWritten === 0) throw Object.assign(new Error("the disk took no bytes"), { code: "EIO" });
    done += bytesWritten;
  }
}

/** Writes every byte of several chunks, in their order, without copying them together first. */
export async function writeChunks(handle: FileHandle, chunks: readonly Uint8Array[]): Promise<void> {
  const { bytesWritten } = await handle.writev(chunks);
  let before = bytesWritten;
  for (const chunk of chunks) {
    if (before < chunk.length) await writeAll(handle, chunk.subarray(before));
    before = Math.max(0, before - chunk.length);
  }
}

/**
 * Makes a folder and its missing parents, each of them durable. Not Node's own recursive mkdir: below a folder
 * that answers ENOENT to every new name, as /proc does, that one never returns.
 */
export async function makeFolder(folder: string, mode: number): Promise<void> {
  // Mostly it is there, and to look costs a third of a try that fails.
  if (await isFolder(folder)) return;
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

/** Makes one folder, or finds it there; false where its parent is missing. */
async function makeOne(folder: string, mode: number): Promise<boolean> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return false;
    // A read-only file system says so before it says that the folder is there.
    if (await isFolder(folder)) return true;
    if (code !== "EEXIST") throw error;
    throw Object.assign(new Error(`${folder} is not a folder`), { code: "ENOTDIR", cause: error });
  }
  await syncFolder(path.dirname(folder));
  return true;
}

function noSuchFolder(folder: string): Error {
  return Object.assign(new Error(`no folder can be made at ${folder}`), { code: "ENOENT" });
}

/** Whether there is a folder, or a link to one, of this name. */
export async function isFolder(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isDirectory();
  } catch {
    return false;
  }
}

/** Removes a file if it is there. */
export async function removeIfPresent(file: string): Promise<void> {
  try {
    await unlink(file);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}
