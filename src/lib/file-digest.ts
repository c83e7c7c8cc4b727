import { createHash } from "node:crypto";
import { promises } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { DiskFile } from "./disk-file.ts";
import { errorCode } from "./error-text.ts";

/** The SHA-256 of bytes, in hex. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const PART_BYTES = 1024 * 1024;

/**
 * The SHA-256 of a regular file's bytes in hex, read in bounded memory. No more is read than the file's size: a file of
 * /proc has none, and may never end. @throws Error if it is another kind of file, or the system's error
 */
export async function fileSha256(path: string): Promise<string> {
  const file = DiskFile.openToRead(path);
  try {
    file.requireRegular();
    const { size } = file;
    const hash = createHash("sha256");
    for (let at = 0; at < size; at += PART_BYTES) {
      hash.update(file.read(at, Math.min(PART_BYTES, size - at)));
      await setImmediate();
    }
    return hash.digest("hex");
  } finally {
    file.close();
  }
}

/** Errors that say nothing about the file's content: it may still be the same. */
const PASSING = new Set(["EIO", "EMFILE", "ENFILE"]);

/** Whether a file exists and has exactly these bytes. Compares the size first. @throws if it cannot be read */
export async function isFileOf(file: string, expected: { bytes: number; sha256: string }): Promise<boolean> {
  try {
    const { size } = await promises.stat(file);
    return size === expected.bytes && (await fileSha256(file)) === expected.sha256;
  } catch (error) {
    if (PASSING.has(errorCode(error) ?? "")) throw error;
    return false;
  }
}
