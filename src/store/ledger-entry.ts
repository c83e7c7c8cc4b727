import { promises, readdirSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../lib/error-code.ts";
import { idOfName } from "./ledger-name.ts";
import type { ReadTask } from "./task-lines.ts";

/** A file that the ledger's folders hold: a task, or something that needs a word to the user. */
export type LedgerEntry = { file: string } & (ReadTask | { kind: "foreign" });

/** A folder's names in order; none where the folder is missing or is no folder. */
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

/** Reads a task's file, under whatever name. What checks its lines is loaded with the first: a purchase needs none. */
export async function readTask(id: string, file: string): Promise<ReadTask> {
  const content = await promises.readFile(file, "utf8");
  const { readTaskLines } = await import("./task-lines.ts");
  return readTaskLines(id, content);
}

/** Hidden files, and those that Windows keeps in folders: what a system puts there by itself is nobody's concern. */
const OF_THE_SYSTEM = /^\.|^(?:thumbs\.db|desktop\.ini)$/i;

/** Reads one file; null where it is the system's own, or another process has just moved it away. */
export async function readEntry(folder: string, name: string): Promise<LedgerEntry | null> {
  const file = path.join(folder, name);
  const id = idOfName(name);
  if (id === undefined) return OF_THE_SYSTEM.test(name) ? null : { file, kind: "foreign" };
  try {
    return { file, ...(await readTask(id, file)) };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    return { file, kind: "damaged", why: error instanceof Error ? error.message : String(error) };
  }
}
