import { rmSync } from "node:fs";
import path from "node:path";
import { type Clock, systemClock } from "../lib/clock.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { makeFolder, removeIfPossible, removeIfPresent, syncFolder } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { unsortedNames } from "./ledger-files.ts";
import { isId } from "./ledger-name.ts";
import { withStateFolderErrors } from "./store-errors.ts";

/** Amount that a file adds to the sum. If several files have the same key, only one file is counted. */
interface Entry {
  key: string;
  value: number;
}

/** Sum over the file names of a folder. Names are cached after parsing, but the folder is listed again for each sum. */
export class RunningSum {
  readonly #folder: string;
  readonly #parseName: (name: string) => Entry | null;
  #entries = new Map<string, Entry | null>();

  /** @param parseName returns null for a file that is not part of the sum */
  constructor(folder: string, parseName: (name: string) => Entry | null) {
    this.#folder = folder;
    this.#parseName = parseName;
  }

  total(): number {
    const previous = this.#entries;
    const cachedEntry = (name: string) => {
      const entry = previous.get(name);
      return entry === undefined ? this.#parseName(name) : entry;
    };
    this.#entries = new Map(unsortedNames(this.#folder).map((name) => [name, cachedEntry(name)]));
    const values = new Map<string, number>();
    for (const entry of this.#entries.values()) if (entry !== null) values.set(entry.key, entry.value);
    return [...values.values()].reduce((sum, value) => sum + value, 0);
  }
}

export interface Charge {
  /** Id of the task in the ledger. */
  task: string;
  request: number;
  /** Number of the task's part that the submitting process writes. */
  part: number;
  /** Fingerprint of the account's key. */
  keyId: string;
  credits: number;
}

/** `spent`: the day's other charges, in credits. */
export type Announcement = { ok: true } | { ok: false; spent: number };

/** Sums are integers, in millionths of a credit, because sums of decimals are inexact. */
const UNITS_PER_CREDIT = 1_000_000;
const MAX_CREDITS = 1_000_000_000;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const KEY_ID = /^[\w-]{1,64}$/;
const CHARGE_NAME =
  /^(?<task>[^.]+)\.(?<request>\d{1,4})\.(?<part>\d{1,6})\.(?<keyId>[\w-]{1,64})\.(?<credits>\d{1,10}(?:\.\d{1,6})?)$/;
const MAX_ATTEMPTS = 8;
const FIRST_DELAY_MS = 2;
const MAX_SUMS = 16;

/**
 * Possible charges of accounts by day, over all processes and providers. Each charge is an empty file,
 * `<day>/<task>.<request>.<part>.<key>.<credits>`. A process announces each submit before sending it, and withdraws the
 * announcement if the submit was refused or not sent.
 */
export class DailySpending {
  readonly #folder: string;
  readonly #clock: Pick<Clock, "sleep">;
  readonly #random: () => number;
  readonly #sums = new Map<string, RunningSum>();

  constructor(folder: string, clock: Pick<Clock, "sleep"> = systemClock, random: () => number = Math.random) {
    this.#folder = folder;
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Announces a submit unless its charge would exceed the cap. The charge's file is created before all files are
   * listed, so that two processes cannot exceed the cap together. A request that is announced twice counts once.
   * @param day local day, such as `2026-01-31`
   * @param cap in credits; null: no cap
   * @throws StateFolderError
   */
  async announce(day: string, charge: Charge, cap: number | null): Promise<Announcement> {
    const folder = this.#dayFolder(day);
    const file = path.join(folder, chargeName(charge));
    return withStateFolderErrors(this.#folder, HINT, async () => {
      await makeFolder(folder, 0o700);
      for (let attempt = 1; ; attempt++) {
        const isNew = createIfMissing(file);
        const units = this.#sum(day, charge.keyId).total();
        if (cap === null || units <= toUnits(cap)) {
          // The file is synced, because the charge must count towards the cap even after a power cut.
          if (cap !== null) await syncFolder(folder);
          return { ok: true };
        }
        // An existing file is not removed, because an earlier attempt might have been charged.
        if (isNew) removeIfPresent(file);
        if (attempt === MAX_ATTEMPTS || !isNew)
          return { ok: false, spent: (units - toUnits(charge.credits)) / UNITS_PER_CREDIT };
        await this.#clock.sleep(FIRST_DELAY_MS + this.#random() * FIRST_DELAY_MS * 2 ** attempt);
      }
    });
  }

  /** @throws StateFolderError */
  async withdraw(day: string, charge: Charge): Promise<void> {
    const file = path.join(this.#dayFolder(day), chargeName(charge));
    await withStateFolderErrors(this.#folder, HINT, async () => removeIfPresent(file));
  }

  /** Removes the announcements of an uncharged task. Never throws, because leftovers only raise the sum. */
  forget(task: string): void {
    try {
      for (const day of unsortedNames(this.#folder).filter((name) => DAY.test(name)))
        for (const name of unsortedNames(path.join(this.#folder, day)))
          if (name.startsWith(`${task}.`)) removeIfPossible(path.join(this.#folder, day, name));
    } catch {}
  }

  /** @throws the disk's error */
  sweep(day: string): void {
    for (const name of unsortedNames(this.#folder))
      if (DAY.test(name) && name < day)
        rmSync(path.join(this.#folder, name), { recursive: true, force: true });
  }

  /** Sum of an account's charges of a day, in credits. @throws StateFolderError */
  async total(day: string, keyId: string): Promise<number> {
    return withStateFolderErrors(
      this.#folder,
      HINT,
      async () => this.#sum(day, keyId).total() / UNITS_PER_CREDIT,
    );
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

/** @throws TypeError if the charge does not give a valid file name */
function chargeName({ task, request, part, keyId, credits }: Charge): string {
  const price = (toUnits(credits) / UNITS_PER_CREDIT).toFixed(6).replace(/\.?0+$/, "");
  const name = `${task}.${request}.${part}.${keyId}.${price}`;
  if (
    !isId(task) ||
    !KEY_ID.test(keyId) ||
    !CHARGE_NAME.test(name) ||
    !(credits >= 0 && credits <= MAX_CREDITS)
  )
    throw new TypeError("not a charge");
  return name;
}

function parseEntry(name: string, keyId: string): Entry | null {
  const { groups } = CHARGE_NAME.exec(name) ?? {};
  if (groups?.keyId !== keyId || !isId(groups.task ?? "")) return null;
  const credits = Number(groups.credits);
  if (credits > MAX_CREDITS) return null;
  return { key: `${groups.task}.${groups.request}`, value: toUnits(credits) };
}

/** Rounds up to whole units, but ignores floating-point errors. */
function toUnits(credits: number): number {
  const units = credits * UNITS_PER_CREDIT;
  return Math.abs(units - Math.round(units)) < 1e-3 ? Math.round(units) : Math.ceil(units);
}

/** @returns false if the file exists @throws the disk's error */
function createIfMissing(file: string): boolean {
  try {
    DiskFile.createExclusive(file, 0o600).close();
    return true;
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    return false;
  }
}
