import { link, lstat, rename, unlink } from "node:fs/promises";
import { errorCode } from "./error-code.ts";

/** What file systems without hard links (FAT, some network mounts) answer to `link`. */
const NO_HARD_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"]);

/**
 * Gives a finished temporary file its final name, in one step that a crash cannot halve.
 * Without `overwrite` an existing name is never touched: the answer is `exists` and the temporary file stays.
 */
export async function publish(
  temporary: string,
  target: string,
  overwrite: boolean,
): Promise<"published" | "exists"> {
  if (overwrite) {
    await rename(temporary, target);
    return "published";
  }
  try {
    await link(temporary, target);
  } catch (error) {
    if (errorCode(error) === "EEXIST") return "exists";
    if (NO_HARD_LINKS.has(errorCode(error) ?? "")) return renameIfFree(temporary, target);
    throw error;
  }
  await unlink(temporary);
  return "published";
}

/**
 * Without hard links nothing publishes both atomically and exclusively. A whole file under its name matters
 * more, so the name is looked at first; another program would have to take it in that very instant.
 */
async function renameIfFree(temporary: string, target: string): Promise<"published" | "exists"> {
  if (await nameIsTaken(target)) return "exists";
  await rename(temporary, target);
  return "published";
}

/** Whether anything at all has this name: a file, a folder, a pipe, even a link that leads nowhere. */
export async function nameIsTaken(file: string): Promise<boolean> {
  try {
    await lstat(file);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return false;
    throw error;
  }
}
