import { createHash } from "node:crypto";
import { createReadStream, promises } from "node:fs";
import { errorCode } from "./error-code.ts";

/** The SHA-256 of a file's bytes in hex, read in bounded memory. @throws the system's error */
export async function fileSha256(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest("hex");
}

/** Errors that say nothing about the file's content: it may still be the same. */
const PASSING = new Set(["EIO", "EMFILE", "ENFILE"]);

/** Whether a file exists and has exactly these bytes. Compares the size first. @throws if it cannot be read */
export async function isFileOf(file: string, known: { bytes: number; sha256: string }): Promise<boolean> {
  try {
    const { size } = await promises.stat(file);
    return size === known.bytes && (await fileSha256(file)) === known.sha256;
  } catch (error) {
    if (PASSING.has(errorCode(error) ?? "")) throw error;
    return false;
  }
}
