import { randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import path from "node:path";
import { DiskFile } from "../lib/disk-file.ts";
import { removeIfPresent } from "../lib/durable.ts";
import { errorCode } from "../lib/error-code.ts";
import { namesIn } from "./ledger-entry.ts";

// What conf leaves open: a disk that is full, and a process that is killed while it writes.

/**
 * conf's writer reports success after a short write, so a file of our own checks first that there is room. It has
 * random bytes: the settings must not be in it if the process is killed, and zeros may take no space at all.
 * @throws the system's error
 */
export async function proveRoom(settingsFile: string, bytes: number): Promise<void> {
  const probe = `${settingsFile}.probe`;
  const file = DiskFile.createExclusive(probe, 0o600);
  try {
    file.write(randomBytes(bytes));
    await file.sync();
  } finally {
    file.close();
    removeIfPresent(probe);
  }
}

/** Suffixes of the settings file's name: the probe's, and that of conf's temporary file. */
const LEFTOVER = /^\.(?:probe|tmp-\d{10}[0-9a-f]{6})$/;

/**
 * The files that killed processes left beside the settings. conf follows a link, so they may be beside its target. Only
 * a process that alone may write settings may remove them.
 */
export function leftoversOf(file: string): string[] {
  return [...new Set([file, realFile(file)])].flatMap((each) => {
    const [folder, name] = [path.dirname(each), path.basename(each)];
    const isLeftover = (other: string) => other.startsWith(name) && LEFTOVER.test(other.slice(name.length));
    return namesIn(folder)
      .filter(isLeftover)
      .map((other) => path.join(folder, other));
  });
}

/** The target of a symbolic link; the file itself if it is not a link or does not exist. */
function realFile(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return file;
  }
}
