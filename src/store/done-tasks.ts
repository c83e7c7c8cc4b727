import { rename } from "node:fs/promises";
import path from "node:path";
import { errorCode, makeFolder } from "../lib/durable.ts";
import { type LedgerEntry, listFolder, readEntry } from "./ledger-entry.ts";
import { doneFolder, doneName, idOfName } from "./ledger-name.ts";
import type { TaskRecord } from "./task.ts";

/** The finished tasks: `done/<day>/<hour and minute>/`, each found by its name. */
export class DoneTasks {
  readonly #folder: string;

  constructor(ledgerFolder: string) {
    this.#folder = path.join(ledgerFolder, "done");
  }

  /**
   * Moves a finished task's file here. Not synced: after a power cut the file is in one place or the other,
   * and says itself that it is finished.
   */
  async take(file: string, record: TaskRecord): Promise<void> {
    const folder = path.join(this.#folder, doneFolder(record.id));
    const target = path.join(folder, doneName(record));
    try {
      await rename(file, target);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
      await makeFolder(folder, 0o700);
      await rename(file, target);
    }
  }

  /** Every task whose name `wanted` is true of, newest first, each read only when it is asked for. */
  async *newestFirst(wanted: (name: string) => boolean): AsyncGenerator<LedgerEntry> {
    for (const day of (await listFolder(this.#folder)).reverse()) {
      for await (const { folder, name } of this.#namesOf(day)) {
        if (!wanted(name)) continue;
        const entry = await readEntry(folder, name);
        if (entry) yield entry;
      }
    }
  }

  /** The task with this id of the ledger's own; null where it is not among the finished. */
  async read(id: string): Promise<LedgerEntry | null> {
    const folder = path.join(this.#folder, doneFolder(id));
    const name = (await listFolder(folder)).find((each) => idOfName(each) === id);
    return name === undefined ? null : readEntry(folder, name);
  }

  async *#namesOf(day: string): AsyncGenerator<{ folder: string; name: string }> {
    for (const minute of (await listFolder(path.join(this.#folder, day))).reverse()) {
      const folder = path.join(this.#folder, day, minute);
      for (const name of (await listFolder(folder)).reverse()) yield { folder, name };
    }
  }
}
