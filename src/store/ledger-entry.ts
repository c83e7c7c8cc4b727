import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../lib/error-code.ts";
import { idOfName } from "./ledger-name.ts";
import { type ReadTask, readTaskLines } from "./task-lines.ts";

/** A file that the ledger's folders hold: a task, or something that needs a word to the user. */
export type LedgerEntry = { file: string } & (ReadTask | { kind: "foreign" });

/** A folder's names in order; none where the folder is missing or is no folder. */
export async function listFolder(folder: string): Promise<string[]> {
  return (await namesIn(folder)).sort();
}

/** As `listFolder`, in no order. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

/** Reads one file; null where another process has just moved it away. */
export async function readEntry(folder: string, name: string): Promise<LedgerEntry | null> {
  const file = path.join(folder, name);
  const id = idOfName(name);
  if (id === undefined) return { file, kind: "foreign" };
  try {
    return { file, ...readTaskLines(id, await readFile(file, "utf8")) };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    return { file, kind: "damaged", why: error instanceof Error ? error.message : String(error) };
  }
}
