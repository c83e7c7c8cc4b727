import path from "node:path";
import { DiskFile } from "../lib/disk-file.ts";
import { isPresent, makeFolder, removeIfPossible } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { unsortedNames } from "./ledger-files.ts";
import { isId } from "./ledger-name.ts";
import { StateFolderError } from "./store-errors.ts";

const CHECK_INTERVAL_MS = 250;

/**
 * Marks of tasks that the user has cancelled while another process was working on them. A mark is an empty file named
 * by the task's id. The working process checks for the mark before it sends a request.
 */
export class CancelMarks {
  readonly #folder: string;
  readonly #watched = new Map<string, Set<() => void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ledgerFolder: string) {
    this.#folder = path.join(ledgerFolder, "cancelled");
  }

  /** @throws the disk's error */
  async add(id: string): Promise<void> {
    await makeFolder(this.#folder, 0o700);
    try {
      DiskFile.createExclusive(this.#path(id), 0o600).close();
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
  }

  /** @throws StateFolderError after a disk error, because the user might have been told that the task is cancelled */
  has(id: string): boolean {
    try {
      return isPresent(this.#path(id));
    } catch (error) {
      throw new StateFolderError(this.#folder, error);
    }
  }

  /** Never throws, because a leftover does no harm. */
  remove(id: string): void {
    try {
      if (this.has(id)) removeIfPossible(this.#path(id));
    } catch {
      // Ignored, because the next sweep tries again.
    }
  }

  async sweep(isFinished: (id: string) => Promise<boolean>): Promise<void> {
    for (const name of unsortedNames(this.#folder))
      if (isId(name) && (await isFinished(name))) this.remove(name);
  }

  /** Calls `onMark` repeatedly while a task is marked, without keeping the process alive. @returns a stop function */
  watch(id: string, onMark: () => void): () => void {
    const calls = this.#watched.get(id) ?? new Set();
    this.#watched.set(id, calls.add(onMark));
    this.#timer ??= setInterval(() => this.#check(), CHECK_INTERVAL_MS).unref();
    return () => {
      calls.delete(onMark);
      if (calls.size === 0 && this.#watched.get(id) === calls) this.#watched.delete(id);
      if (this.#watched.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #check(): void {
    try {
      for (const name of unsortedNames(this.#folder))
        for (const call of this.#watched.get(name) ?? []) call();
    } catch {
      // Ignored, because each task also checks its mark before it sends a request.
    }
  }

  #path(id: string): string {
    return path.join(this.#folder, id);
  }
}
