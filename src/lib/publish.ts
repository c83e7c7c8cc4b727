import { linkSync, promises, readFileSync } from "node:fs";
import { DiskFile } from "./disk-file.ts";
import { errorCode } from "./error-code.ts";
import { readText } from "./read-text.ts";
import { whileInUse } from "./while-in-use.ts";

/** What file systems without hard links (FAT, some network mounts) answer to `link`; Windows says EISDIR on FAT. */
const NO_HARD_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV", "EISDIR"]);

/** Reserves a name for one process at a time. @returns what gives it up; null while another has it */
export type ReserveName = (file: string) => Promise<(() => Promise<void>) | null>;

/**
 * Gives a finished temporary file its final name, in one step that a crash cannot halve. An existing name is never
 * touched: the answer is `exists` and the temporary file stays.
 * @param reserve asked for the name where there are no hard links
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
  // It has its name; that the other one stays is no failure of it.
  await whileInUse(() => promises.unlink(temporary)).catch(() => {});
  return "published";
}

/**
 * As `publish`, for what must never have two owners. Where there are no hard links the
 * file is made anew under its name, so that somebody may look at it before it is whole.
 * @returns "copied" where the temporary file is another one now, and no longer needed
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

const MOST_LOOKS = 20;
const LOOK_AGAIN_MS = 25;

/**
 * Reads what `publishOnce` has made. Without hard links it may be seen before it is whole: that is waited for.
 * @returns the text, which is still not whole where whoever made it was stopped in the middle
 */
export async function readPublished(file: string, isWhole: (text: string) => boolean): Promise<string> {
  for (let looks = 1; ; looks++) {
    const text = await readText(file);
    if (isWhole(text) || looks === MOST_LOOKS) return text;
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}

async function copyOnce(temporary: string, target: string): Promise<"copied" | "exists"> {
  const bytes = readFileSync(temporary);
  try {
    const file = DiskFile.createExclusive(target, 0o600);
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
 * Without hard links nothing publishes both atomically and exclusively. So the name is reserved first, and then
 * looked up: another program, which knows of no reservation, would have to take it in that very instant.
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

/** Whether anything at all has this name: a file, a folder, a pipe, even a link that leads nowhere. */
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
