import { rmSync } from "node:fs";
import path from "node:path";
import { type Clock, systemClock } from "../lib/clock.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { makeFolder, removeIfPossible, removeIfPresent, syncFolder } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { unsortedNames } from "./ledger-files.ts";
import { isId } from "./ledger-name.ts";
import { usingStateFolder } from "./store-errors.ts";

/** The value of a file. Files with the same key count once. */
interface Entry {
  key: string;
  value: number;
}

/** A sum over the names of a folder's files, which other processes create and remove. Each name is parsed once. */
export class RunningSum {
  readonly #folder: string;
  readonly #parseName: (name: string) => Entry | null;
  #entries = new Map<string, Entry | null>();

  /** @param parseName entry of a file by its name, which may be anything; null if it does not count */
  constructor(folder: string, parseName: (name: string) => Entry | null) {
    this.#folder = folder;
    this.#parseName = parseName;
  }

  /**
   * Includes every file that exists during the whole call.
   * @throws the disk's error
   */
  total(): number {
    const before = this.#entries;
    const cachedEntry = (name: string) => {
      const entry = before.get(name);
      return entry === undefined ? this.#parseName(name) : entry;
    };
    this.#entries = new Map(unsortedNames(this.#folder).map((name) => [name, cachedEntry(name)]));
    const values = new Map<string, number>();
    for (const entry of this.#entries.values()) if (entry !== null) values.set(entry.key, entry.value);
    return [...values.values()].reduce((sum, value) => sum + value, 0);
  }
}

export interface Charge {
  /** The ledger's id. */
  task: string;
  /** Index of the request in its task. */
  request: number;
  /** Number of the task's part written by the submitting process. */
  part: number;
  /** Fingerprint of the account's key. */
  keyId: string;
  credits: number;
}

/** Whether a submit stays within the cap; otherwise the account's spending without it. */
export type Announcement = { ok: true } | { ok: false; spent: number };

/** Sums are in millionths: sums of decimals are inexact. */
const UNITS = 1_000_000;
const MAX_CREDITS = 1_000_000_000;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const KEY_ID = /^[\w-]{1,64}$/;
const NAME =
  /^(?<task>[^.]+)\.(?<request>\d{1,4})\.(?<part>\d{1,6})\.(?<keyId>[\w-]{1,64})\.(?<credits>\d{1,10}(?:\.\d{1,6})?)$/;
/** Maximum number of attempts: two processes that withdraw for each other collide less and less often. */
const MAX_ATTEMPTS = 8;
const FIRST_DELAY_MS = 2;
/** Maximum number of cached sums. */
const MAX_SUMS = 16;

/**
 * The possible charges of accounts by day, over all processes and providers: an empty file each,
 * `<day>/<task>.<request>.<part>.<key>.<credits>`. A process announces a submit before it, and withdraws its
 * announcement if the submit was refused or never sent. A request that two processes of a task have announced counts
 * once.
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
   * Announces a submit, if the day's sum with it stays within the cap. Each process lists the others after it has
   * created its own file, so that no two exceed the cap together. A request that is already announced counts once.
   * @param day local day, such as `2026-01-31`
   * @param cap in credits; null: no cap
   * @throws StateFolderError
   */
  async announce(day: string, charge: Charge, cap: number | null): Promise<Announcement> {
    const folder = this.#dayFolder(day);
    const file = path.join(folder, chargeName(charge));
    return usingStateFolder(this.#folder, HINT, async () => {
      await makeFolder(folder, 0o700);
      for (let attempt = 1; ; attempt++) {
        const isNew = createOnce(file);
        const units = this.#sum(day, charge.keyId).total();
        if (cap === null || units <= toUnits(cap)) {
          // A power cut after the submit must not reduce a limited sum.
          if (cap !== null) await syncFolder(folder);
          return { ok: true };
        }
        // If it is not new, an earlier attempt may have been charged.
        if (isNew) removeIfPresent(file);
        if (attempt === MAX_ATTEMPTS || !isNew)
          return { ok: false, spent: (units - toUnits(charge.credits)) / UNITS };
        await this.#clock.sleep(FIRST_DELAY_MS + this.#random() * FIRST_DELAY_MS * 2 ** attempt);
      }
    });
  }

  /**
   * After a submit was refused or never sent.
   * @throws StateFolderError
   */
  async withdraw(day: string, charge: Charge): Promise<void> {
    const file = path.join(this.#dayFolder(day), chargeName(charge));
    await usingStateFolder(this.#folder, HINT, async () => removeIfPresent(file));
  }

  /**
   * Removes the announcements of a task that ended without a charge. Never throws: leftovers only make the sum too
   * high.
   */
  forget(task: string): void {
    try {
      for (const day of unsortedNames(this.#folder).filter((name) => DAY.test(name)))
        for (const name of unsortedNames(path.join(this.#folder, day)))
          if (name.startsWith(`${task}.`)) removeIfPossible(path.join(this.#folder, day, name));
    } catch {
      // The disk does not list it.
    }
  }

  /**
   * Removes the days before this one.
   * @throws the disk's error
   */
  sweep(day: string): void {
    for (const name of unsortedNames(this.#folder))
      if (DAY.test(name) && name < day)
        rmSync(path.join(this.#folder, name), { recursive: true, force: true });
  }

  /**
   * The possible charges of an account on a day, in credits.
   * @throws StateFolderError
   */
  async total(day: string, keyId: string): Promise<number> {
    return usingStateFolder(this.#folder, HINT, async () => this.#sum(day, keyId).total() / UNITS);
  }

  #sum(day: string, keyId: string): RunningSum {
    const folder = this.#dayFolder(day);
    const key = `${day} ${keyId}`;
    const sum = this.#sums.get(key) ?? new RunningSum(folder, (name) => parseEntry(name, keyId));
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

/** @throws TypeError for a charge that would not parse, or would be another path */
function chargeName({ task, request, part, keyId, credits }: Charge): string {
  const price = (toUnits(credits) / UNITS).toFixed(6).replace(/\.?0+$/, "");
  const name = `${task}.${request}.${part}.${keyId}.${price}`;
  if (!isId(task) || !KEY_ID.test(keyId) || !NAME.test(name) || !(credits >= 0 && credits <= MAX_CREDITS))
    throw new TypeError("not a charge");
  return name;
}

/** The request and its price in millionths; null for another account and for foreign names. */
function parseEntry(name: string, keyId: string): Entry | null {
  const { groups } = NAME.exec(name) ?? {};
  if (groups?.keyId !== keyId || !isId(groups.task ?? "")) return null;
  const credits = Number(groups.credits);
  if (credits > MAX_CREDITS) return null;
  return { key: `${groups.task}.${groups.request}`, value: toUnits(credits) };
}

/** Rounded up, except for floating-point errors. */
function toUnits(credits: number): number {
  const units = credits * UNITS;
  return Math.abs(units - Math.round(units)) < 1e-3 ? Math.round(units) : Math.ceil(units);
}

/**
 * @returns whether the file is new
 * @throws the disk's error
 */
function createOnce(file: string): boolean {
  try {
    DiskFile.createExclusive(file, 0o600).close();
    return true;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    return false;
  }
}
