import path from "node:path";
import { mapConcurrent } from "../lib/concurrency.ts";
import { mayBeCharged, spentCredits } from "../task/record.ts";
import type { DoneTasks } from "./done-tasks.ts";
import { type LedgerEntry, namesIn, requireReadable } from "./ledger-entry.ts";
import { creditsByName, idOfName, isAuxiliary, timeOfId } from "./ledger-name.ts";

/** How often the whole ledger is listed again. */
const LIST_ALL_MS = 5_000;
/** The clocks of machines that share a ledger differ by less. */
const CLOCKS_DIFFER_MS = 60_000;

const FILES_AT_ONCE = 32;

/**
 * What an account was or may have been charged since a moment. Listing a day's tasks for each row would take longer and
 * longer, so that is done now and then. In between the unfinished are listed, and the latest of the finished: a task that
 * was not there before is one of these. The sum may be too high for some seconds after a task was refused or withdrawn.
 */
export class Spending {
  readonly #openFolder: string;
  readonly #readOpen: (name: string) => Promise<LedgerEntry | null>;
  readonly #done: DoneTasks;
  readonly #since: string;
  readonly #keyId: string;
  readonly #creditsOf: (name: string) => number;
  /** What each task was begun for, by its id, as its file has said while it was unfinished: that does not change. */
  readonly #begun = new Map<string, number>();
  readonly #finished = new Map<string, number>();
  #listedMs = Number.NEGATIVE_INFINITY;

  /**
   * @param readOpen reads an unfinished task's file
   * @param since only tasks whose ids sort after it count
   */
  constructor(
    ledgerFolder: string,
    readOpen: (name: string) => Promise<LedgerEntry | null>,
    done: DoneTasks,
    since: string,
    keyId: string,
  ) {
    this.#openFolder = path.join(ledgerFolder, "open");
    this.#readOpen = readOpen;
    this.#done = done;
    this.#since = since;
    this.#keyId = keyId;
    this.#creditsOf = creditsByName(keyId);
  }

  /** The sum as of now, in credits. @param nowMs milliseconds since the epoch @throws what the disk says, UnreadableRecordError */
  async total(nowMs: number): Promise<number> {
    const listsAll = nowMs < this.#listedMs || nowMs - this.#listedMs >= LIST_ALL_MS;
    const from = listsAll ? this.#since : timeOfId(this.#listedMs - CLOCKS_DIFFER_MS);
    // What a call that runs beside this one adds may not have been there yet when this one listed.
    const before = [...this.#begun.keys()];
    // The unfinished first: a task that is finished between the two listings is in both, and counts once.
    const open = await this.#readUnfinished();
    for (const name of this.#done.namesSince(from)) {
      const id = idOfName(name);
      if (id !== undefined && id >= this.#since) this.#finished.set(id, this.#creditsOf(name));
    }
    if (listsAll) {
      // A task in neither was begun, and withdrawn before anything was sent.
      for (const id of before) if (!open.has(id)) this.#begun.delete(id);
      this.#listedMs = nowMs;
    }
    let total = 0;
    for (const [id, credits] of this.#begun) if (!this.#finished.has(id)) total += credits;
    for (const credits of this.#finished.values()) total += credits;
    return total;
  }

  /** Reads the unfinished tasks that were not read yet. @returns the ids of all that are there */
  async #readUnfinished(): Promise<Set<string>> {
    const names = namesIn(this.#openFolder).filter((name) => !isAuxiliary(name));
    const counts = (id = "") => id >= this.#since && !this.#begun.has(id);
    const added = names.filter((name) => counts(idOfName(name)));
    await mapConcurrent(added, FILES_AT_ONCE, async (name) => {
      const entry = await this.#readOpen(name);
      if (entry !== null) requireReadable(entry, "so what was spent today is not known");
      if (entry?.kind !== "task" || !mayBeCharged(entry.record)) return;
      const { id, intent } = entry.record;
      const isOfAccount = intent.service.keyId === this.#keyId;
      this.#begun.set(id, isOfAccount ? (spentCredits(entry.record) ?? 0) : 0);
    });
    return new Set(names.map((name) => idOfName(name) ?? ""));
  }
}
