import { isUtf8 } from "node:buffer";
import { type Stats, statSync } from "node:fs";
import { DiskFile } from "./disk-file.ts";
import { errorCode } from "./error-text.ts";
import { fieldsOf, jsonOrNull } from "./json.ts";

const MAX_BYTES = 256 * 1024 * 1024;

/** Refuses pipes and devices, which could block. @throws Error with the reason as a clause, or the system's error */
export function readRegular(path: string, maxBytes = MAX_BYTES): Buffer {
  return withRegularFile(path, (file) => {
    const { size } = file;
    if (size > maxBytes) throw new Error(`it is larger than ${maxBytes / 1024 / 1024} MiB`);
    return file.read(0, size);
  });
}

/** @throws as `readRegular` */
export async function readText(path: string, maxBytes?: number): Promise<string> {
  return readRegular(path, maxBytes).toString("utf8");
}

/** Reads a text field of a JSON file; null if the file is missing or incomplete. @throws as `readRegular` */
export function readField(path: string, field: string): string | null {
  try {
    const value = fieldsOf(jsonOrNull(readRegular(path).toString("utf8")))[field];
    return typeof value === "string" ? value : null;
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return null;
    throw error;
  }
}

const HEAD_BYTES = 4096;

export function readHead(path: string): Buffer {
  try {
    return withRegularFile(path, (file) => file.read(0, HEAD_BYTES));
  } catch {
    return Buffer.alloc(0);
  }
}

function withRegularFile(path: string, read: (file: DiskFile) => Buffer): Buffer {
  const file = DiskFile.openToRead(path);
  try {
    file.requireRegular();
    return read(file);
  } finally {
    file.close();
  }
}

/** U+FFFD as UTF-8. The decoder replaces invalid bytes with it, but a valid text can contain it too. */
const REPLACEMENT = Buffer.from("\ufffd");

/** Returns the offset of the first byte that is not valid UTF-8, or -1. */
export function firstInvalidByte(bytes: Buffer): number {
  if (isUtf8(bytes)) return -1;
  const text = bytes.toString("utf8");
  let offset = 0;
  let from = 0;
  for (;;) {
    const at = text.indexOf("\ufffd", from);
    offset += Buffer.byteLength(text.slice(from, at));
    if (!bytes.subarray(offset, offset + REPLACEMENT.length).equals(REPLACEMENT)) return offset;
    offset += REPLACEMENT.length;
    from = at + 1;
  }
}

export function isFolder(file: string): boolean {
  return statOrNull(file)?.isDirectory() ?? false;
}

export function isPipeOrDevice(file: string): boolean {
  const stats = statOrNull(file);
  return stats !== null && !stats.isFile() && !stats.isDirectory();
}

function statOrNull(file: string): Stats | null {
  try {
    return statSync(file);
  } catch {
    return null;
  }
}
