import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../lib/durable.ts";
import { type ReadTask, readTaskLines } from "./task-lines.ts";

/** A file that the ledger's folders hold: a task, or something that needs a word to the user. */
export type LedgerEntry = { file: string } & (ReadTask | { kind: "foreign" });

const TASK_NAME = /^(\d{8}T\d{9}-[0-9a-f]{8})\.jsonl$/;

/** A claim on a task, finished or in the making: no entry of its own. */
export const CLAIM_NAME = /\.claim-\d+(\.\w+)?$/;

/** The folder under `done/` that a task belongs in: its day, so that no folder grows without end. */
export function dayOf(id: string): string {
  return `${id.slice(0, 4)}-${id.slice(4, 6)}-${id.slice(6, 8)}`;
}

/** A folder's names in order; none where the folder is missing or is no folder. */
export async function listFolder(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

/** Reads one file; null where another process has just moved it away. */
export async function readEntry(folder: string, name: string): Promise<LedgerEntry | null> {
  const file = path.join(folder, name);
  const id = TASK_NAME.exec(name)?.[1];
  if (id === undefined) return { file, kind: "foreign" };
  try {
    return { file, ...readTaskLines(id, await readFile(file, "utf8")) };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    return { file, kind: "damaged", why: error instanceof Error ? error.message : String(error) };
  }
}
