import path from "node:path";
import { DiskFile } from "../lib/disk-file.ts";
import { isPresent, makeFolder, removeIfPossible } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { namesIn } from "./ledger-files.ts";
import { isId } from "./ledger-name.ts";
import { StateFolderError } from "./store-errors.ts";

/** How often marks are searched for, in milliseconds. */
const CHECK_EVERY_MS = 250;

/**
 * Tasks that the user has cancelled while another process had them: an empty file for each, named by its id. That process, or
 * the next one that takes the task over, cancels it before it sends a request.
 */
export class CancelMarks {
  readonly #folder: string;
  readonly #watched = new Map<string, Set<() => void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ledgerFolder: string) {
    this.#folder = path.join(ledgerFolder, "cancelled");
  }

  /** @throws the disk's error */
  async leave(id: string): Promise<void> {
    await makeFolder(this.#folder, 0o700);
    try {
      DiskFile.createExclusive(this.#fileOf(id), 0o600).close();
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
  }

  /** @throws StateFolderError where the disk does not say: its task may have been reported as cancelled */
  has(id: string): boolean {
    try {
      return isPresent(this.#fileOf(id));
    } catch (error) {
      throw new StateFolderError(this.#folder, error);
    }
  }

  /** Never throws: what stays does no harm. */
  remove(id: string): void {
    try {
      if (this.has(id)) removeIfPossible(this.#fileOf(id));
    } catch {
      // The next sweep tries again.
    }
  }

  /** Removes marks on tasks that have ended. @param isFinished whether a task with this id is */
  async sweep(isFinished: (id: string) => Promise<boolean>): Promise<void> {
    for (const name of namesIn(this.#folder)) if (isId(name) && (await isFinished(name))) this.remove(name);
  }

  /**
   * Calls `onMark` again and again while a task is marked. It does not keep the process from ending.
   * @returns ends it
   */
  watch(id: string, onMark: () => void): () => void {
    const calls = this.#watched.get(id) ?? new Set();
    this.#watched.set(id, calls.add(onMark));
    this.#timer ??= setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
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
      for (const name of namesIn(this.#folder)) for (const call of this.#watched.get(name) ?? []) call();
    } catch {
      // The disk may work at the next search. Before a request is sent, its mark is searched for by name.
    }
  }

  #fileOf(id: string): string {
    return path.join(this.#folder, id);
  }
}
