import { linkSync, promises, readFileSync, statSync } from "node:fs";
import { DiskFile } from "./disk-file.ts";
import { whileInUse } from "./durable.ts";
import { errorCode } from "./error-text.ts";
import { readText } from "./read-file.ts";

/** Errors of `link` on file systems without hard links (FAT, some network mounts); EISDIR is Windows on FAT. */
const NO_HARD_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV", "EISDIR"]);

/**
 * Reserves a name for one process at a time.
 * @returns a release function; null while another process has it
 */
export type ReserveName = (file: string) => Promise<(() => Promise<void>) | null>;

/**
 * Publishes a complete temporary file under its final name in one atomic step. An existing file is never touched: the
 * result is `exists`, and the temporary file stays.
 * @param reserve used if there are no hard links
 */
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
  // A leftover temporary name is not an error.
  await whileInUse(() => promises.unlink(temporary)).catch(() => {});
  return "published";
}

/**
 * Variant of `publish` for claims, which must never have two owners. Without hard links the file is written again
 * under its final name, so another process may read it before it is complete.
 * @returns "copied" for such a copy: the temporary file is no longer needed
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
const READ_AGAIN_MS = 25;

/**
 * Reads a file of `publishOnce`, waiting until it is complete.
 * @returns the text, incomplete if its writer was killed
 */
export async function readPublished(file: string, isWhole: (text: string) => boolean): Promise<string> {
  for (let reads = 1; ; reads++) {
    const text = await readText(file);
    if (isWhole(text) || reads === MAX_READS) return text;
    await new Promise((resolve) => setTimeout(resolve, READ_AGAIN_MS));
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

/**
 * Without hard links, no operation is both atomic and exclusive. So the name is reserved first and then checked: only
 * another program could take it in the moment before the rename.
 */
async function renameIfFree(
  temporary: string,
  target: string,
  reserve: ReserveName,
): Promise<"published" | "exists"> {
  const release = await reserve(target);
  if (release === null) return "exists";
  try {
    if (await nameIsTaken(target)) return "exists";
    await whileInUse(() => promises.rename(temporary, target));
    return "published";
  } finally {
    await release();
  }
}

/** Whether a file, a folder, a pipe or even a dangling link has this name. */
export async function nameIsTaken(file: string): Promise<boolean> {
  try {
    await promises.lstat(file);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return false;
    throw error;
  }
}
