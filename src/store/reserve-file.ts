import { randomBytes } from "node:crypto";
import path from "node:path";
import { DiskFile } from "../lib/disk-file.ts";
import { isPresent, removeIfPresent } from "../lib/durable.ts";
import { errorCode } from "../lib/error-code.ts";

const RESERVE_BYTES = 64 * 1024;

function ballastFile(folder: string): string {
  return path.join(folder, ".ballast");
}

/** Reserves disk space, so that a task id can still be recorded if the disk fills up. */
export function keepReserve(folder: string): void {
  if (isPresent(ballastFile(folder))) return;
  try {
    const file = DiskFile.createExclusive(ballastFile(folder), 0o600);
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
  removeIfPresent(ballastFile(folder));
}
