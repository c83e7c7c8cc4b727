import { platform } from "node:os";
import { DiskFile } from "./disk-file.ts";
import { errorCode } from "./error-code.ts";

interface FolderSync {
  /** Whether it has not begun yet. */
  waits: boolean;
  done: Promise<void>;
}

/** The last unfinished sync of each folder. */
const syncs = new Map<string, FolderSync>();

/**
 * Makes a new name in a folder survive a power cut, if the folder can be synced; the file's own bytes are synced in any
 * case. Windows has no such call and needs none. Calls during a sync wait for the next one, which they share: the
 * current one may have begun before the new name existed.
 */
export function syncFolder(folder: string): Promise<void> {
  if (platform() === "win32") return Promise.resolve();
  const last = syncs.get(folder);
  if (last?.waits) return last.done;
  const sync: FolderSync = { waits: last !== undefined, done: Promise.resolve() };
  sync.done = syncAfter(last?.done, folder, sync).finally(() => {
    if (syncs.get(folder) === sync) syncs.delete(folder);
  });
  syncs.set(folder, sync);
  return sync.done;
}

async function syncAfter(last: Promise<void> | undefined, folder: string, sync: FolderSync): Promise<void> {
  await last?.catch(() => {});
  sync.waits = false;
  await syncNow(folder);
}

/** Errors of folders that can be written to but not read, or whose file system cannot sync folders. */
const NOT_SYNCED = new Set(["EACCES", "EPERM", "EINVAL", "ENOTSUP", "EOPNOTSUPP"]);

async function syncNow(folder: string): Promise<void> {
  try {
    const opened = DiskFile.openToRead(folder);
    await opened.sync().finally(() => opened.close());
  } catch (error) {
    if (!NOT_SYNCED.has(errorCode(error) ?? "")) throw error;
  }
}
