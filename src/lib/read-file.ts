import { isUtf8 } from "node:buffer";
import { type Stats, statSync } from "node:fs";
import { DiskFile } from "./disk-file.ts";
import { errorCode } from "./error-text.ts";
import { fieldsOf, jsonOrNull } from "./json.ts";

/** More than any file of text that imggen writes, or is given. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * The bytes of a regular file. A named pipe or a device in its place is an error: reading one may take for ever, and
 * a thread that waits for it cannot be stopped. @throws Error with a clause of why not, or the system's error
 */
export function readRegular(path: string, mostBytes = MAX_BYTES): Buffer {
  return reading(path, (file) => {
    const { size } = file;
    if (size > mostBytes) throw new Error(`it is larger than ${mostBytes / 1024 / 1024} MiB`);
    return file.read(0, size);
  });
}

/** The text of a regular file. @throws as `readRegular` */
export async function readText(path: string, mostBytes?: number): Promise<string> {
  return readRegular(path, mostBytes).toString("utf8");
}

/** A text in a small JSON file; null if there is no such file, or none that is whole. @throws as `readRegular` */
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

/** The beginning of a regular file; empty for what is none, or cannot be read. */
export function readHead(path: string): Buffer {
  try {
    return reading(path, (file) => file.read(0, HEAD_BYTES));
  } catch {
    return Buffer.alloc(0);
  }
}

function reading(path: string, read: (file: DiskFile) => Buffer): Buffer {
  const file = DiskFile.openToRead(path);
  try {
    file.requireRegular();
    return read(file);
  } finally {
    file.close();
  }
}

/** U+FFFD as UTF-8. A decoder puts this character in place of invalid bytes, but it may also be in the text itself. */
const REPLACEMENT = Buffer.from("\ufffd");

/** The offset of the first byte that is not valid UTF-8; -1 if all are valid. */
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

/** Whether this path is a folder, or a link to one. */
export function isFolder(file: string): boolean {
  return statusOf(file)?.isDirectory() ?? false;
}

/** Whether this path is there, and neither a regular file nor a folder. */
export function isPipeOrDevice(file: string): boolean {
  const status = statusOf(file);
  return status !== null && !status.isFile() && !status.isDirectory();
}

/** What is at a path; null for nothing that can be seen. */
function statusOf(file: string): Stats | null {
  try {
    return statSync(file);
  } catch {
    return null;
  }
}
