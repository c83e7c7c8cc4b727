import { readdirSync } from "node:fs";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { errorCode, errorText } from "../lib/error-text.ts";
import { readRegular } from "../lib/read-file.ts";
import type { Wording } from "../lib/wording.ts";
import { idOfName } from "./ledger-name.ts";
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
 * Reads a task's file, under any name. Synchronously, because thousands are read in a row, and a trip to a thread and
 * back takes five times as long as the read. The code that checks its lines is loaded with the first: a submit does not
 * need it.
 */
export async function readTask(id: string, file: string): Promise<ReadTask> {
  reads += 1;
  if (reads % READS_IN_A_TURN === 0) await nextTurn();
  const content = readRegular(file).toString("utf8");
  const { readTaskLines } = await import("./task-lines.ts");
  return readTaskLines(id, content);
}

/** Hidden files, and those that Windows keeps in folders: the system puts them there, so they are not reported. */
const OF_THE_SYSTEM = /^\.|^(?:thumbs\.db|desktop\.ini)$/i;

/** Reads one file; null if it is the system's own, or another process has just moved it away. */
export async function readEntry(folder: string, name: string): Promise<LedgerEntry | null> {
  const file = path.join(folder, name);
  const id = idOfName(name);
  if (id === undefined) return OF_THE_SYSTEM.test(name) ? null : { file, kind: "foreign" };
  try {
    return { file, ...(await readTask(id, file)) };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    return { file, kind: "damaged", why: errorText(error), cause: error };
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
