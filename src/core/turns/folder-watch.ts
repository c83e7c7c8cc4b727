import { type FSWatcher, statSync, watch } from "node:fs";
import { isTurnName } from "./place.ts";

/** Who waits for a turn in one folder, in this process. */
interface Watched {
  wakes: Set<() => void>;
  /** null where the folder cannot be watched, such as with too many watchers: then its waiters only poll. */
  watcher: FSWatcher | null;
}

const watched = new Map<string, Watched>();

/** Identifies a folder, however its path is spelled. @throws ENOENT */
export function folderKey(folder: string): string {
  const { dev, ino } = statSync(folder, { bigint: true });
  return `${dev}:${ino}`;
}

/**
 * Calls `wake` when a turn has begun or ended in a folder, in this process or another: a process has one watcher for all
 * that wait in the folder. It does not keep the process from ending.
 * @returns ends it
 */
export function onTurnsChanged(folder: string, key: string, wake: () => void): () => void {
  const entry = watched.get(key) ?? newlyWatched(folder, key);
  entry.wakes.add(wake);
  return () => {
    entry.wakes.delete(wake);
    if (entry.wakes.size > 0 || watched.get(key) !== entry) return;
    watched.delete(key);
    entry.watcher?.close();
  };
}

/** Wakes whoever waits in this process, without the way through the system. */
export function announceChange(key: string): void {
  for (const wake of [...(watched.get(key)?.wakes ?? [])]) wake();
}

function newlyWatched(folder: string, key: string): Watched {
  const entry: Watched = { wakes: new Set(), watcher: null };
  watched.set(key, entry);
  try {
    entry.watcher = watch(folder, { persistent: false }, (_event, name) => {
      // Waiters renew their tickets all the time. Their coming and going may wait for the next poll.
      if (name === null || isTurnName(name)) announceChange(key);
    });
    entry.watcher.on("error", () => {
      entry.watcher?.close();
      entry.watcher = null;
    });
  } catch {
    // Its waiters poll.
  }
  return entry;
}
