import { createHash } from "node:crypto";
import { promises } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { DiskFile } from "./disk-file.ts";
import { errorCode } from "./error-text.ts";

export function sha256Hex(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const PART_BYTES = 1024 * 1024;

/** Reads at most the file's size, because a file in /proc can be endless. @throws Error if the file is not regular */
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

/** Temporary errors, which do not mean that the file has other content. */
const TEMPORARY_ERRORS = new Set(["EIO", "EMFILE", "ENFILE"]);

export async function hasContent(
  file: string,
  expected: { bytes: number; sha256: string },
): Promise<boolean> {
  try {
    const { size } = await promises.stat(file);
    return size === expected.bytes && (await fileSha256(file)) === expected.sha256;
  } catch (error) {
    if (TEMPORARY_ERRORS.has(errorCode(error) ?? "")) throw error;
    return false;
  }
}
