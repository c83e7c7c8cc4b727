import path from "node:path";
import { mapConcurrent } from "../lib/concurrency.ts";
import { mayBeCharged } from "../task/record.ts";
import type { DoneTasks } from "./done-tasks.ts";
import { type LedgerEntry, namesIn } from "./ledger-entry.ts";
import { creditsByName, ID_LENGTH, idOfName, isAuxiliary, timeOfId } from "./ledger-name.ts";

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
  readonly #credits = new Map<string, number>();
  #total = 0;
  /** Tasks that are counted and were not seen among the finished. */
  readonly #unfinished = new Set<string>();
  readonly #finished = new Set<string>();
  /** Unfinished tasks whose files were read: what they were begun for does not change. */
  readonly #read = new Set<string>();
  /** The running listing, which concurrent callers share. */
  #listing: Promise<void> | null = null;
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

  /** The sum as of now, in credits. @param nowMs milliseconds since the epoch @throws what the disk says */
  async total(nowMs: number): Promise<number> {
    if (nowMs < this.#listedMs || nowMs - this.#listedMs >= LIST_ALL_MS)
      this.#listing ??= this.#listOnce(nowMs);
    await this.#listing;
    // That may have begun before the caller's own task did.
    await this.#look(timeOfId(this.#listedMs - CLOCKS_DIFFER_MS));
    return this.#total;
  }

  async #listOnce(nowMs: number): Promise<void> {
    try {
      const before = [...this.#unfinished];
      const open = await this.#look(this.#since);
      // A task in neither was begun, and withdrawn before anything was sent.
      for (const id of before) if (this.#unfinished.has(id) && !open.has(id)) this.#drop(id);
      this.#listedMs = nowMs;
    } finally {
      this.#listing = null;
    }
  }

  /** Counts the unfinished tasks, and those that were begun since. @returns the ids of the unfinished */
  async #look(since: string): Promise<Set<string>> {
    // The unfinished first: a task that is finished between the two listings is in both, and counts once.
    const open = await this.#readUnfinished();
    for (const name of this.#done.namesSince(since)) this.#finish(name);
    return open;
  }

  /** Reads the unfinished tasks that were not read yet. @returns the ids of all that are there */
  async #readUnfinished(): Promise<Set<string>> {
    const names = namesIn(this.#openFolder).filter((name) => !isAuxiliary(name));
    const idsByName = new Map(names.map((name) => [name, idOfName(name) ?? ""]));
    const added = names.filter((name) => !this.#read.has(idsByName.get(name) ?? ""));
    await mapConcurrent(added, FILES_AT_ONCE, async (name) => {
      const entry = await this.#readOpen(name);
      if (entry?.kind !== "task") return;
      const { id, intent } = entry.record;
      if (!mayBeCharged(entry.record)) return this.#drop(id);
      this.#read.add(id);
      this.#begin(id, intent.service.keyId, intent.credits ?? 0);
    });
    return new Set(idsByName.values());
  }

  #begin(id: string, keyId: string, credits: number): void {
    if (id < this.#since || this.#credits.has(id)) return;
    this.#unfinished.add(id);
    this.#count(id, keyId === this.#keyId ? credits : 0);
  }

  /** Counts a finished task by its file's name: what that says stays so. */
  #finish(name: string): void {
    if (this.#finished.has(name.slice(0, ID_LENGTH))) return;
    const id = idOfName(name);
    if (id === undefined || id < this.#since) return;
    this.#finished.add(id);
    this.#unfinished.delete(id);
    this.#count(id, this.#creditsOf(name));
  }

  /** A task that has cost nothing so far. */
  #drop(id: string): void {
    if (this.#finished.has(id)) return;
    this.#unfinished.delete(id);
    this.#total -= this.#credits.get(id) ?? 0;
    this.#credits.delete(id);
  }

  #count(id: string, credits: number): void {
    this.#total += credits - (this.#credits.get(id) ?? 0);
    this.#credits.set(id, credits);
  }
}
