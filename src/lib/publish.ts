import { linkSync, promises, readFileSync, statSync } from "node:fs";
import { DiskFile } from "./disk-file.ts";
import { retryWhileInUse } from "./durable.ts";
import { errorCode } from "./error-text.ts";
import { readText } from "./read-file.ts";

/** Errors of `link` on file systems without hard links, such as FAT. On Windows, the error for FAT is EISDIR. */
const NO_HARD_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV", "EISDIR"]);

/** Reserves a name for one process at a time. Returns a function that releases it; null if the name is reserved. */
export type ReserveName = (file: string) => Promise<(() => Promise<void>) | null>;

/** Renames a file atomically unless the target exists. `reserve` is for file systems without hard links. */
export async function publish(
  temporary: string,
  target: string,
  reserve: ReserveName,
): Promise<"published" | "exists"> {
  try {
    await promises.link(temporary, target);
  } catch (error) {
    if (errorCode(error) === "EEXIST") return "exists";
    if (NO_HARD_LINKS.has(errorCode(error) ?? "")) return renameIfFree(temporary, target, reserve);
    throw error;
  }
  await retryWhileInUse(() => promises.unlink(temporary)).catch(() => {});
  return "published";
}

/**
 * Creates the target from a complete temporary file, and never replaces a file. If the file system has no hard links,
 * the file is copied, so that another process can read an incomplete target.
 * @returns "published" if the target is a hard link to the temporary file, "copied" if it is a new file
 */
export async function publishOnce(
  temporary: string,
  target: string,
): Promise<"published" | "copied" | "exists"> {
  try {
    linkSync(temporary, target);
    return "published";
  } catch (error) {
    if (errorCode(error) === "EEXIST") return "exists";
    if (NO_HARD_LINKS.has(errorCode(error) ?? "")) return copyOnce(temporary, target);
    throw error;
  }
}

const MAX_READS = 20;
const REREAD_DELAY_MS = 25;

/** Waits until a file of `publishOnce` is complete. @returns the text, which is incomplete if the writer was killed */
export async function readPublished(file: string, isComplete: (text: string) => boolean): Promise<string> {
  for (let reads = 1; ; reads++) {
    const text = await readText(file);
    if (isComplete(text) || reads === MAX_READS) return text;
    await new Promise((resolve) => setTimeout(resolve, REREAD_DELAY_MS));
  }
}

async function copyOnce(temporary: string, target: string): Promise<"copied" | "exists"> {
  const bytes = readFileSync(temporary);
  const mode = statSync(temporary).mode & 0o777;
  try {
    const file = DiskFile.createExclusive(target, mode);
    try {
      file.write(bytes);
      await file.sync();
    } finally {
      file.close();
    }
    return "copied";
  } catch (error) {
    if (errorCode(error) === "EEXIST") return "exists";
    throw error;
  }
}

/** Reserves the name, because without hard links no rename is atomic and exclusive. Other programs are not excluded. */
async function renameIfFree(
  temporary: string,
  target: string,
  reserve: ReserveName,
): Promise<"published" | "exists"> {
  const release = await reserve(target);
  if (release === null) return "exists";
  try {
    if (await isNameTaken(target)) return "exists";
    await retryWhileInUse(() => promises.rename(temporary, target));
    return "published";
  } finally {
    await release();
  }
}

export async function isNameTaken(file: string): Promise<boolean> {
  try {
    await promises.lstat(file);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return false;
    throw error;
  }
}
