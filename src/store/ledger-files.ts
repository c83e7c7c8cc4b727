import { readdirSync, renameSync } from "node:fs";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isPresent, makeFolder, whileInUse } from "../lib/durable.ts";
import { errorCode, errorText } from "../lib/error-text.ts";
import { readRegular } from "../lib/read-file.ts";
import type { Wording } from "../lib/wording.ts";
import type { Task } from "../task/task.ts";
import { dayFolder, doneName, idOfName, openName, partName, partsOf } from "./ledger-name.ts";
import { UnreadableRecordError } from "./store-errors.ts";
import type { ReadTask } from "./task-lines.ts";

/** A file in the ledger's folders: a task, or an unreadable entry that the user is told about. */
export type LedgerEntry = { file: string } & (ReadTask | { kind: "foreign" });

/** A folder's names in order; none if the folder is missing or is no folder. */
export function listFolder(folder: string): string[] {
  return namesIn(folder).sort();
}

/** As `listFolder`, in no order. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

/** After this many reads, other events are handled, such as signals. */
const READS_IN_A_TURN = 64;
let reads = 0;

/**
 * Reads the parts of a task. Synchronously, because thousands are read in a row, and a trip to a thread and back takes five
 * times as long as the read. The code that checks its lines is loaded with the first: a submit does not need it.
 */
async function readParts(id: string, files: readonly string[]): Promise<ReadTask> {
  reads += 1;
  if (reads % READS_IN_A_TURN === 0) await nextTurn();
  const contents = files.map((file) => readRegular(file).toString("utf8"));
  const { readTaskLines } = await import("./task-lines.ts");
  return readTaskLines(id, contents);
}

/** Hidden files, and those that Windows keeps in folders: the system puts them there, so they are not reported. */
const OF_THE_SYSTEM = /^\.|^(?:thumbs\.db|desktop\.ini)$/i;

/**
 * The files of a ledger: unfinished tasks in `open/`, the others in `done/<day>/<hour and minute>/`. Further parts are in
 * `parts/`, and stay there: a task is finished or reopened by the move of one file.
 */
export class LedgerFiles {
  readonly openFolder: string;
  readonly #doneFolder: string;
  readonly #partsFolder: string;
  /** Names by id, as last listed: for a batch that reads thousands of tasks. */
  readonly #listed = new Map<string, Map<string, string>>();

  constructor(ledgerFolder: string) {
    this.openFolder = path.join(ledgerFolder, "open");
    this.#doneFolder = path.join(ledgerFolder, "done");
    this.#partsFolder = path.join(ledgerFolder, "parts");
  }

  /** A part of an unfinished task. @param part 1 for the first */
  part(id: string, part: number): string {
    if (part === 1) return path.join(this.openFolder, openName(id));
    return path.join(this.#partsFolder, dayFolder(id), partName(id, part));
  }

  isOpen(id: string): boolean {
    return isPresent(this.part(id, 1));
  }

  /** Reads an unfinished task from all its parts; null if it has just been moved away. */
  async readOpen(name: string): Promise<LedgerEntry | null> {
    const id = idOfName(name);
    if (id === undefined) return otherEntry(this.openFolder, name);
    const files = [this.part(id, 1)];
    for (let part = 2; isPresent(this.part(id, part)); part++) files.push(this.part(id, part));
    return entryOf(id, files);
  }

  /** A finished task; null if it is not among them. */
  async readDone(id: string): Promise<LedgerEntry | null> {
    const folder = this.#folderOf(id);
    const listed = this.#listed.get(folder)?.get(id);
    const entry = listed === undefined ? null : await this.#readDoneNamed(folder, listed);
    if (entry !== null) return entry;
    const name = this.#list(folder).get(id);
    return name === undefined ? null : this.#readDoneNamed(folder, name);
  }

  isDone(id: string): boolean {
    return namesIn(this.#folderOf(id)).some((name) => idOfName(name) === id);
  }

  /**
   * Every finished task whose name `wanted` is true of, newest first, each read only when it is asked for.
   * @param since an id: none that is older; then `wanted` is true of tasks' names alone
   */
  async *doneNewestFirst(wanted: (name: string) => boolean, since = ""): AsyncGenerator<LedgerEntry> {
    for (const folder of this.#minutes()) {
      for (const name of listFolder(folder).reverse()) {
        if (!wanted(name)) continue;
        if (name < since) return;
        const entry = await this.#readDoneNamed(folder, name);
        if (entry) yield entry;
      }
    }
  }

  /**
   * The latest finished tasks whose names carry a tag, newest first.
   * @param max how many at most
   * @param folders how many folders to list at most, so that a long history of other tasks takes no longer
   */
  async recentDone(
    isWanted: (name: string) => boolean,
    max: number,
    folders: number,
  ): Promise<LedgerEntry[]> {
    const found: LedgerEntry[] = [];
    let left = folders;
    for (const folder of this.#minutes()) {
      const names = listFolder(folder).filter(isWanted);
      for (const name of names.reverse().slice(0, max - found.length)) {
        const entry = await this.#readDoneNamed(folder, name);
        if (entry) found.push(entry);
      }
      left -= 1;
      if (found.length >= max || left === 0) break;
    }
    return found;
  }

  /**
   * Moves a task to the finished ones: from then on nobody can take it over. Not synced: after a power cut it is in one place or
   * the other, and its last line says that it is finished.
   */
  async moveToDone(task: Task): Promise<void> {
    const folder = this.#folderOf(task.id);
    await moveInto(folder, this.part(task.id, 1), path.join(folder, doneName(task)));
  }

  /** Moves a finished task back to the unfinished ones. */
  async moveToOpen(id: string): Promise<void> {
    const folder = this.#folderOf(id);
    const name = this.#list(folder).get(id);
    if (name !== undefined) await moveInto(this.openFolder, path.join(folder, name), this.part(id, 1));
  }

  async #readDoneNamed(folder: string, name: string): Promise<LedgerEntry | null> {
    const id = idOfName(name);
    if (id === undefined) return otherEntry(folder, name);
    const further = Array.from({ length: partsOf(name) - 1 }, (_, at) => this.part(id, at + 2));
    return entryOf(id, [path.join(folder, name), ...further]);
  }

  #folderOf(id: string): string {
    return path.join(this.#doneFolder, dayFolder(id));
  }

  /** The folders of the minutes in which tasks were begun, the latest first. */
  *#minutes(): Generator<string> {
    for (const day of listFolder(this.#doneFolder).reverse()) {
      const folder = path.join(this.#doneFolder, day);
      for (const minute of listFolder(folder).reverse()) yield path.join(folder, minute);
    }
  }

  #list(folder: string): Map<string, string> {
    const names = new Map(listFolder(folder).map((name) => [idOfName(name) ?? name, name]));
    this.#listed.set(folder, names);
    return names;
  }
}

async function entryOf(id: string, files: readonly string[]): Promise<LedgerEntry | null> {
  const [file = ""] = files;
  try {
    return { file, ...(await readParts(id, files)) };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    return { file, kind: "damaged", why: errorText(error), cause: error };
  }
}

function otherEntry(folder: string, name: string): LedgerEntry | null {
  return OF_THE_SYSTEM.test(name) ? null : { file: path.join(folder, name), kind: "foreign" };
}

/** Moves a file, unless another process has done that. */
async function moveInto(folder: string, file: string, target: string): Promise<void> {
  const move = () => whileInUse(() => renameSync(file, target));
  try {
    await move();
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    if (!isPresent(file)) return;
    await makeFolder(folder, 0o700);
    await move();
  }
}

/** A file in the ledger's folders that cannot be read as a task. */
export type UnreadableEntry = Exclude<LedgerEntry, { kind: "task" }>;

/** One line about such a file, for a warning. It is never deleted. */
export function describeUnreadable(entry: UnreadableEntry): string {
  switch (entry.kind) {
    case "stub":
      return `${entry.file}: imggen ended before this request was written down, so it was never sent.`;
    case "damaged":
      return `${entry.file} is damaged (${entry.why}); it was left as it is.`;
    case "newer":
      return `${entry.file} was written by a newer imggen (format ${entry.version}); update to read it.`;
    case "foreign":
      return `${entry.file} does not belong here; it was left as it is.`;
  }
}

/**
 * Stops a decision about money at a file that may be a charged task and cannot be read.
 * @param clause what is not known without it, as in `so its cost is not known`
 * @param otherwise how to go on without it, as a sentence
 * @throws UnreadableRecordError
 */
export function requireReadable(entry: LedgerEntry, clause: string, otherwise?: Wording): void {
  const { file } = entry;
  if (entry.kind === "damaged")
    throw new UnreadableRecordError(file, entry.why, clause, otherwise, entry.cause);
  if (entry.kind === "newer")
    throw new UnreadableRecordError(file, "a newer imggen wrote it", clause, otherwise);
}

/** Whether an entry may be a charged task, so that it is not certain that all tasks are finished. */
export function mayBeTask({ kind }: UnreadableEntry): boolean {
  return kind === "damaged" || kind === "newer";
}
