import { randomBytes } from "node:crypto";
import { lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../lib/error-code.ts";
import { UsageError } from "../lib/error-types.ts";
import { readPublished } from "../lib/publish.ts";
import { createWhole, isDraftOf } from "../lib/write-whole.ts";
import { removeOld } from "./old-drafts.ts";

/** The file in a batch's output folder that holds the folder's id, so that a folder that was moved is known again. */
export const FOLDER_ID_FILE = ".imggen-batch";

/** 32 hexadecimal digits. */
const ID = /^[0-9a-f]{32}$/;

/** An id that no other folder has. */
export function newFolderId(): string {
  return randomBytes(16).toString("hex");
}

/**
 * The id in a folder; null if it has none.
 * @throws UsageError if the file exists and is not an id, because then it is not known whether the folder is a batch's
 */
export async function readFolderId(folder: string): Promise<string | null> {
  const file = path.join(folder, FOLDER_ID_FILE);
  try {
    // Only a regular file can be an id: reading a pipe would never end.
    if (!lstatSync(file).isFile()) throw damaged(file, "it is not a regular file");
    const text = await readPublished(file, (read) => read.endsWith("\n"));
    if (ID.test(text.trimEnd())) return text.trimEnd();
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error instanceof UsageError ? error : damaged(file, code ?? String(error));
  }
  throw damaged(file, "it holds no id");
}

/**
 * Gives a folder an id.
 * @param nowMs milliseconds since the epoch
 * @returns whether it has this id now; false if another process was first
 * @throws the disk's error
 */
export async function createFolderId(folder: string, id: string, nowMs: number): Promise<boolean> {
  const drafts = readdirSync(folder).filter((name) => isDraftOf(FOLDER_ID_FILE, name));
  await removeOld(folder, drafts, nowMs).catch(() => {});
  // For others to read too: a folder may be shared.
  return createWhole(path.join(folder, FOLDER_ID_FILE), `${id}\n`, 0o666);
}

function damaged(file: string, why: string): UsageError {
  return new UsageError(`${file} cannot be read (${why}), so the batch in this folder is not known.`, {
    hint: "Nothing was sent. Restore that file; if you remove it, the batch is known by the folder's path alone.",
  });
}
