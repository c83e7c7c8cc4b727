import { renameSync } from "node:fs";
import path from "node:path";
import { makeFolder, whileInUse } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import type { TaskEvent } from "../task/lifecycle.ts";
import type { TaskRecord } from "../task/record.ts";
import { type LedgerEntry, listFolder, namesIn, readEntry } from "./ledger-entry.ts";
import { doneFolder, doneName, hasTag, ID_LENGTH } from "./ledger-name.ts";
import { TaskFile } from "./task-file.ts";

/** The finished tasks: `done/<day>/<hour and minute>/`, each found by its name. */
export class DoneTasks {
  readonly #folder: string;
  /** Names by id, as last listed: for a batch that reads thousands of tasks. */
  readonly #listed = new Map<string, Map<string, string>>();

  constructor(ledgerFolder: string) {
    this.#folder = path.join(ledgerFolder, "done");
  }

  /**
   * Moves a finished task's file here, unless a process on another machine has done that: it finishes the same task where
   * it cannot see that this one is alive. Not synced: after a power cut the file is in one place or the other, and its
   * last event says that the task is finished.
   */
  async take(file: string, record: TaskRecord): Promise<void> {
    const folder = path.join(this.#folder, doneFolder(record.id));
    const target = path.join(folder, doneName(record));
    const move = () => whileInUse(() => renameSync(file, target));
    try {
      await move();
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
      if (await this.has(record.id)) return;
      await makeFolder(folder, 0o700);
      await move();
    }
  }

  /**
   * Every task whose name `wanted` is true of, newest first, each read only when it is asked for.
   * @param since an id: none that is older; then `wanted` is true of tasks' names alone
   */
  async *newestFirst(wanted: (name: string) => boolean, since = ""): AsyncGenerator<LedgerEntry> {
    for (const folder of this.#minutes()) {
      for (const name of listFolder(folder).reverse()) {
        if (!wanted(name)) continue;
        if (name < since) return;
        const entry = await readEntry(folder, name);
        if (entry) yield entry;
      }
    }
  }

  /** The task with this id of the ledger's own; null if it is not among the finished. */
  async read(id: string): Promise<LedgerEntry | null> {
    const folder = path.join(this.#folder, doneFolder(id));
    const listed = this.#listed.get(folder)?.get(id);
    const entry = listed === undefined ? null : await readEntry(folder, listed);
    if (entry !== null) return entry;
    // It may have been finished since, or renamed by a late record.
    const name = (await this.#list(folder)).get(id);
    return name === undefined ? null : readEntry(folder, name);
  }

  /**
   * Appends a record to a finished task, and renames its file, whose name describes its content. A crash in between
   * leaves the old name, so that the task is not found by its images.
   * @throws the disk's error
   */
  async record(id: string, event: TaskEvent, makeRoom: () => void): Promise<void> {
    const folder = path.join(this.#folder, doneFolder(id));
    const name = (await this.#list(folder)).get(id);
    if (name === undefined) return;
    try {
      const file = await TaskFile.reopen(path.join(folder, name), makeRoom);
      try {
        await file.record(event);
      } finally {
        file.close();
      }
      const entry = await readEntry(folder, name);
      if (entry?.kind === "task") renameSync(entry.file, path.join(folder, doneName(entry.record)));
    } catch (error) {
      // Another process has recorded the same a moment ago.
      if (errorCode(error) !== "ENOENT") throw error;
    }
  }

  /** Whether the task with this id of the ledger's own is among the finished by now. */
  async has(id: string): Promise<boolean> {
    return namesIn(path.join(this.#folder, doneFolder(id))).some((name) => name.startsWith(id));
  }

  /**
   * The latest tasks whose names carry a tag, newest first.
   * @param most how many at most
   * @param folders how many folders to list at most, so that a long history of other tasks takes no longer
   */
  async recent(tag: string, most: number, folders: number): Promise<LedgerEntry[]> {
    const found: LedgerEntry[] = [];
    let left = folders;
    for (const folder of this.#minutes()) {
      const names = listFolder(folder).filter((name) => hasTag(name, tag));
      for (const name of names.reverse().slice(0, most - found.length)) {
        const entry = await readEntry(folder, name);
        if (entry) found.push(entry);
      }
      left -= 1;
      if (found.length >= most || left === 0) break;
    }
    return found;
  }

  /** The names of the tasks that were begun in the minute of an id, or later, in no order. */
  *namesSince(id: string): Generator<string> {
    const first = path.join(this.#folder, doneFolder(id));
    for (const folder of this.#minutes()) {
      if (folder < first) return;
      yield* namesIn(folder);
    }
  }

  /** The folders of the minutes in which tasks were begun, the latest first. */
  *#minutes(): Generator<string> {
    for (const day of listFolder(this.#folder).reverse()) {
      const folder = path.join(this.#folder, day);
      for (const minute of listFolder(folder).reverse()) yield path.join(folder, minute);
    }
  }

  async #list(folder: string): Promise<Map<string, string>> {
    const names = new Map(listFolder(folder).map((name) => [name.slice(0, ID_LENGTH), name]));
    this.#listed.set(folder, names);
    return names;
  }
}
