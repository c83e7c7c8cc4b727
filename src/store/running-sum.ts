import { rmSync } from "node:fs";
import path from "node:path";
import { type Clock, systemClock } from "../lib/clock.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { makeFolder, removeIfPossible, removeIfPresent, syncFolder } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { namesIn } from "./ledger-files.ts";
import { isId } from "./ledger-name.ts";
import { usingStateFolder } from "./store-errors.ts";

/** What a file adds to a sum. Files with the same key count once. */
interface Entry {
  key: string;
  value: number;
}

/** A sum over the names of a folder's files, which other processes create and remove. Each name is read once. */
export class RunningSum {
  readonly #folder: string;
  readonly #entryOfName: (name: string) => Entry | null;
  #entries = new Map<string, Entry | null>();

  /** @param entryOfName entry of a file by its name, which may be anything; null if it does not count */
  constructor(folder: string, entryOfName: (name: string) => Entry | null) {
    this.#folder = folder;
    this.#entryOfName = entryOfName;
  }

  /** The present sum. A file that exists during the whole call counts. @throws the disk's error */
  total(): number {
    const before = this.#entries;
    const entryOf = (name: string) => {
      const known = before.get(name);
      return known === undefined ? this.#entryOfName(name) : known;
    };
    this.#entries = new Map(namesIn(this.#folder).map((name) => [name, entryOf(name)]));
    const values = new Map<string, number>();
    for (const entry of this.#entries.values()) if (entry !== null) values.set(entry.key, entry.value);
    return [...values.values()].reduce((sum, value) => sum + value, 0);
  }
}

/** A submit that may be charged, and its price. */
export interface Charge {
  /** The ledger's id of the task. */
  task: string;
  /** Index of the request in its task. */
  request: number;
  /** Number of the task's part that the process writes which submits it. */
  part: number;
  /** Fingerprint of the account's key. */
  keyId: string;
  credits: number;
}

/** Whether a submit keeps the cap; otherwise what the account has spent without it. */
export type Announcement = { ok: true } | { ok: false; spent: number };

/** Prices are summed as millionths: sums of decimals would be off by a little. */
const UNITS = 1_000_000;
const MAX_CREDITS = 1_000_000_000;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const KEY_ID = /^[\w-]{1,64}$/;
const NAME =
  /^(?<task>[^.]+)\.(?<request>\d{1,4})\.(?<part>\d{1,6})\.(?<keyId>[\w-]{1,64})\.(?<credits>\d{1,10}(?:\.\d{1,6})?)$/;
/** Two processes that withdraw for each other meet again less and less likely. */
const LOOKS = 8;
const FIRST_DELAY_MS = 2;
/** Days whose sums are kept in memory. */
const MAX_SUMS = 16;

/**
 * What accounts may have been charged on a day, over all processes and providers:
 * `<day>/<task>.<request>.<part>.<key>.<credits>`, an empty file. A process announces a submit before it, and withdraws its
 * own announcement if the submit was refused or never sent. A request that two processes of a task have announced counts once.
 */
export class DailySpending {
  readonly #folder: string;
  readonly #clock: Pick<Clock, "sleep">;
  readonly #random: () => number;
  readonly #sums = new Map<string, RunningSum>();

  /** @param random uniform in [0, 1) */
  constructor(folder: string, clock: Pick<Clock, "sleep"> = systemClock, random: () => number = Math.random) {
    this.#folder = folder;
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Announces a submit, if the day's sum with it keeps the cap. Of all that announce, each lists the others after its own
   * file is there, so that no two pass the cap together. A request that is announced already counts once.
   * @param day local day, as `2026-01-31` @param cap in credits; null without one @throws StateFolderError
   */
  async announce(day: string, charge: Charge, cap: number | null): Promise<Announcement> {
    const folder = this.#dayFolder(day);
    const file = path.join(folder, nameOf(charge));
    return usingStateFolder(this.#folder, HINT, async () => {
      await makeFolder(folder, 0o700);
      for (let look = 1; ; look++) {
        const isNew = createOnce(file);
        const units = this.#sumOf(day, charge.keyId).total();
        if (cap === null || units <= toUnits(cap)) {
          // A power cut after the submit must not make a sum smaller that is limited.
          if (cap !== null) await syncFolder(folder);
          return { ok: true };
        }
        // Of one that is not new an earlier attempt may have been charged.
        if (isNew) removeIfPresent(file);
        if (look === LOOKS || !isNew) return { ok: false, spent: (units - toUnits(charge.credits)) / UNITS };
        await this.#clock.sleep(FIRST_DELAY_MS + this.#random() * FIRST_DELAY_MS * 2 ** look);
      }
    });
  }

  /** Removes the announcement of a submit that was refused or never sent. @throws StateFolderError */
  async withdraw(day: string, charge: Charge): Promise<void> {
    const file = path.join(this.#dayFolder(day), nameOf(charge));
    await usingStateFolder(this.#folder, HINT, async () => removeIfPresent(file));
  }

  /** Removes what a task has announced that has ended without a charge. Never throws: what stays makes the sum too high. */
  forget(task: string): void {
    try {
      for (const day of namesIn(this.#folder).filter((name) => DAY.test(name)))
        for (const name of namesIn(path.join(this.#folder, day)))
          if (name.startsWith(`${task}.`)) removeIfPossible(path.join(this.#folder, day, name));
    } catch {
      // The disk does not list it.
    }
  }

  /** Removes the sums of days before this one. @throws the disk's error */
  sweep(day: string): void {
    for (const name of namesIn(this.#folder))
      if (DAY.test(name) && name < day)
        rmSync(path.join(this.#folder, name), { recursive: true, force: true });
  }

  /** What an account may have been charged on a day, in credits. @throws StateFolderError */
  async total(day: string, keyId: string): Promise<number> {
    return usingStateFolder(this.#folder, HINT, async () => this.#sumOf(day, keyId).total() / UNITS);
  }

  #sumOf(day: string, keyId: string): RunningSum {
    const folder = this.#dayFolder(day);
    const key = `${day} ${keyId}`;
    const sum = this.#sums.get(key) ?? new RunningSum(folder, (name) => entryIn(name, keyId));
    this.#sums.set(key, sum);
    const [oldest] = this.#sums.keys();
    if (this.#sums.size > MAX_SUMS && oldest !== undefined) this.#sums.delete(oldest);
    return sum;
  }

  #dayFolder(day: string): string {
    if (!DAY.test(day)) throw new TypeError("not a day");
    return path.join(this.#folder, day);
  }
}

const HINT = "Nothing was sent. Free some space or fix its permissions, then try again.";

/** @throws TypeError for what could not be read back, or would be another path */
function nameOf({ task, request, part, keyId, credits }: Charge): string {
  const price = (toUnits(credits) / UNITS).toFixed(6).replace(/\.?0+$/, "");
  const name = `${task}.${request}.${part}.${keyId}.${price}`;
  if (!isId(task) || !KEY_ID.test(keyId) || !NAME.test(name) || !(credits >= 0 && credits <= MAX_CREDITS))
    throw new TypeError("not a charge");
  return name;
}

/** The request in a file's name, and its price in millionths; null for another account, and for a name that is none of ours. */
function entryIn(name: string, keyId: string): Entry | null {
  const { groups } = NAME.exec(name) ?? {};
  if (groups?.keyId !== keyId || !isId(groups.task ?? "")) return null;
  const credits = Number(groups.credits);
  if (credits > MAX_CREDITS) return null;
  return { key: `${groups.task}.${groups.request}`, value: toUnits(credits) };
}

/** Rounded up, but for what is only the error of a decimal. */
function toUnits(credits: number): number {
  const units = credits * UNITS;
  return Math.abs(units - Math.round(units)) < 1e-3 ? Math.round(units) : Math.ceil(units);
}

/** Whether the file is new. @throws the disk's error */
function createOnce(file: string): boolean {
  try {
    DiskFile.createExclusive(file, 0o600).close();
    return true;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    return false;
  }
}
