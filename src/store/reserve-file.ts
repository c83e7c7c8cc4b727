import { randomBytes } from "node:crypto";
import path from "node:path";
import { DiskFile } from "../lib/disk-file.ts";
import { isPresent, removeIfPresent } from "../lib/durable.ts";
import { errorCode } from "../lib/error-code.ts";

const RESERVE_BYTES = 64 * 1024;

const NAME = ".reserve";
/** How earlier releases named it. */
const OLD_NAME = ".ballast";

/** Reserves disk space, so that a task id can still be recorded if the disk fills up. */
export function keepReserve(folder: string): void {
  const reserve = path.join(folder, NAME);
  if (isPresent(reserve) || isPresent(path.join(folder, OLD_NAME))) return;
  try {
    const file = DiskFile.createExclusive(reserve, 0o600);
    try {
      // Random, because some file systems store a run of zeros in no room at all.
      file.write(randomBytes(RESERVE_BYTES));
    } catch (error) {
      releaseReserve(folder);
      throw error;
    } finally {
      file.close();
    }
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** Releases the reserved space. */
export function releaseReserve(folder: string): void {
  for (const name of [NAME, OLD_NAME]) removeIfPresent(path.join(folder, name));
}
