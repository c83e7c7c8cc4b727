import { readdirSync, renameSync } from "node:fs";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isPresent, makeFolder, retryWhileInUse } from "../lib/durable.ts";
import { errorCode, errorText } from "../lib/error-text.ts";
import { readRegular } from "../lib/read-file.ts";
import type { Wording } from "../lib/wording.ts";
import type { Task } from "../task/task.ts";
import { doneName, minuteFolder, openName, parseTaskName, partCount, partName } from "./ledger-name.ts";
import { UnreadableRecordError } from "./store-errors.ts";
import type { ReadTask } from "./task-lines.ts";

export type LedgerEntry = { file: string } & (ReadTask | { kind: "foreign" });

export function listFolder(folder: string): string[] {
  return unsortedNames(folder).sort();
}

/** Lists a folder; empty if the folder is missing or is not a folder. */
export function unsortedNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

/** Number of reads after which the event loop runs once, so that signals are handled. */
const READS_PER_TURN = 64;
let reads = 0;

/** Reads synchronously, which is five times as fast. Loads the parser late, because a submit does not need it. */
async function readParts(id: string, files: readonly string[]): Promise<ReadTask> {
  reads += 1;
  if (reads % READS_PER_TURN === 0) await nextTurn();
  const contents = files.map((file) => readRegular(file).toString("utf8"));
  const { readTaskLines } = await import("./task-lines.ts");
  return readTaskLines(id, contents);
}

/** Names of hidden files and system files, which are not reported as unreadable entries. */
const SYSTEM_FILE = /^\.|^(?:thumbs\.db|desktop\.ini)$/i;

/**
 * The files of a ledger: unfinished tasks in `open/`, and finished tasks in `done/<day>/<hour and minute>/`. All parts
 * but the first are always in `parts/`, so that moving one file finishes or reopens a task.
 */
export class LedgerFiles {
  readonly openFolder: string;
  readonly #doneFolder: string;
  readonly #partsFolder: string;
  /** File names by folder and id, cached because a batch reads thousands of tasks. */
  readonly #namesByFolder = new Map<string, Map<string, string>>();

  constructor(ledgerFolder: string) {
    this.openFolder = path.join(ledgerFolder, "open");
    this.#doneFolder = path.join(ledgerFolder, "done");
    this.#partsFolder = path.join(ledgerFolder, "parts");
  }

  part(id: string, part: number): string {
    if (part === 1) return path.join(this.openFolder, openName(id));
    return path.join(this.#partsFolder, minuteFolder(id), partName(id, part));
  }

  isOpen(id: string): boolean {
    return isPresent(this.part(id, 1));
  }

  async readOpen(name: string): Promise<LedgerEntry | null> {
    const id = parseTaskName(name);
    if (id === undefined) return unknownFileEntry(this.openFolder, name);
    const files = [this.part(id, 1)];
    for (let part = 2; isPresent(this.part(id, part)); part++) files.push(this.part(id, part));
    return readEntry(id, files);
  }

  async readDone(id: string): Promise<LedgerEntry | null> {
    const folder = this.#minuteFolder(id);
    const cachedName = this.#namesByFolder.get(folder)?.get(id);
    const entry = cachedName === undefined ? null : await this.#readDoneNamed(folder, cachedName);
    if (entry !== null) return entry;
    const name = this.#list(folder).get(id);
    return name === undefined ? null : this.#readDoneNamed(folder, name);
  }

  isDone(id: string): boolean {
    return unsortedNames(this.#minuteFolder(id)).some((name) => parseTaskName(name) === id);
  }

  /** Yields finished tasks with matching file names, newest first. @param since id of the oldest task to include */
  async *doneNewestFirst(isWanted: (name: string) => boolean, since = ""): AsyncGenerator<LedgerEntry> {
    for (const folder of this.#minutes()) {
      for (const name of listFolder(folder).reverse()) {
        if (!isWanted(name)) continue;
        if (name < since) return;
        const entry = await this.#readDoneNamed(folder, name);
        if (entry) yield entry;
      }
    }
  }

  /** Returns the latest finished tasks with matching names, newest first. @param maxFolders limits slow searches */
  async recentDone(
    isWanted: (name: string) => boolean,
    max: number,
    maxFolders: number,
  ): Promise<LedgerEntry[]> {
    const entries: LedgerEntry[] = [];
    let remainingFolders = maxFolders;
    for (const folder of this.#minutes()) {
      const names = listFolder(folder).filter(isWanted);
      for (const name of names.reverse().slice(0, max - entries.length)) {
        const entry = await this.#readDoneNamed(folder, name);
        if (entry) entries.push(entry);
      }
      remainingFolders -= 1;
      if (entries.length >= max || remainingFolders === 0) break;
    }
    return entries;
  }

  /** The move is not synced, because the file's last line marks the task as finished even after a power cut. */
  async moveToDone(task: Task): Promise<void> {
    const folder = this.#minuteFolder(task.id);
    await moveInto(folder, this.part(task.id, 1), path.join(folder, doneName(task)));
  }

  async moveToOpen(id: string): Promise<void> {
    const folder = this.#minuteFolder(id);
    const name = this.#list(folder).get(id);
    if (name !== undefined) await moveInto(this.openFolder, path.join(folder, name), this.part(id, 1));
  }

  async #readDoneNamed(folder: string, name: string): Promise<LedgerEntry | null> {
    const id = parseTaskName(name);
    if (id === undefined) return unknownFileEntry(folder, name);
    const furtherParts = Array.from({ length: partCount(name) - 1 }, (_, index) => this.part(id, index + 2));
    return readEntry(id, [path.join(folder, name), ...furtherParts]);
  }

  #minuteFolder(id: string): string {
    return path.join(this.#doneFolder, minuteFolder(id));
  }

  *#minutes(): Generator<string> {
    for (const day of listFolder(this.#doneFolder).reverse()) {
      const folder = path.join(this.#doneFolder, day);
      for (const minute of listFolder(folder).reverse()) yield path.join(folder, minute);
    }
  }

  #list(folder: string): Map<string, string> {
    const names = new Map(listFolder(folder).map((name) => [parseTaskName(name) ?? name, name]));
    this.#namesByFolder.set(folder, names);
    return names;
  }
}

async function readEntry(id: string, files: readonly string[]): Promise<LedgerEntry | null> {
  const [file = ""] = files;
  try {
    return { file, ...(await readParts(id, files)) };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    return { file, kind: "damaged", why: errorText(error), cause: error };
  }
}

function unknownFileEntry(folder: string, name: string): LedgerEntry | null {
  return SYSTEM_FILE.test(name) ? null : { file: path.join(folder, name), kind: "foreign" };
}

async function moveInto(folder: string, file: string, target: string): Promise<void> {
  const move = () => retryWhileInUse(() => renameSync(file, target));
  try {
    await move();
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    if (!isPresent(file)) return;
    await makeFolder(folder, 0o700);
    await move();
  }
}

export type UnreadableEntry = Exclude<LedgerEntry, { kind: "task" }>;

export function describeUnreadable(entry: UnreadableEntry): string {
  switch (entry.kind) {
    case "stub":
      return `${entry.file}: imggen ended before this request was recorded, so it was never sent.`;
    case "damaged":
      return `${entry.file} is damaged (${entry.why}). The file is unchanged.`;
    case "newer":
      return `${entry.file} was written by a newer imggen (format ${entry.version}); update to read it.`;
    case "foreign":
      return `${entry.file} is not a file of imggen. The file is unchanged.`;
  }
}

/**
 * Throws if an entry is unreadable but might be a charged task, because the caller is about to decide about money.
 * @param clause the unknown fact, as in `so its cost is not known`
 * @param advice how to continue without the file, as a sentence
 * @throws UnreadableRecordError
 */
export function assertReadable(entry: LedgerEntry, clause: string, advice?: Wording): void {
  const { file } = entry;
  if (entry.kind === "damaged") throw new UnreadableRecordError(file, entry.why, clause, advice, entry.cause);
  if (entry.kind === "newer")
    throw new UnreadableRecordError(file, "a newer imggen wrote it", clause, advice);
}

export function mayBeCharged({ kind }: UnreadableEntry): boolean {
  return kind === "damaged" || kind === "newer";
}
