import { platform } from "node:os";
import { DiskFile } from "./disk-file.ts";
import { errorCode } from "./error-code.ts";

interface FolderSync {
  /** Whether it has yet to begin. */
  waits: boolean;
  done: Promise<void>;
}

/** The last sync of each folder that is not over. */
const syncs = new Map<string, FolderSync>();

/**
 * Makes a new name in a folder survive a power cut, where the folder lets itself be synced: the file's own
 * bytes are synced in any case. Windows has no such call and needs none. Whoever comes while a sync is under way
 * waits for the next, which all of them share: the one before may have begun too early for the new name.
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

/** What a folder answers that may be written to but not read, or whose file system syncs no folders. */
const NOT_SYNCED = new Set(["EACCES", "EPERM", "EINVAL", "ENOTSUP", "EOPNOTSUPP"]);

async function syncNow(folder: string): Promise<void> {
  try {
    const opened = DiskFile.openToRead(folder);
    await opened.sync().finally(() => opened.close());
  } catch (error) {
    if (!NOT_SYNCED.has(errorCode(error) ?? "")) throw error;
  }
}
