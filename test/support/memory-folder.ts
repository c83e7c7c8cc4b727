import { readFileSync, statfsSync } from "node:fs";

/** Linux keeps what is here in memory. */
const FOLDER = "/dev/shm";
const ENOUGH_BYTES = 512 * 1024 * 1024;

/** A folder for temporary files that is in memory, if this machine has one with enough room where scripts may run. */
export function memoryFolder(): string | undefined {
  try {
    const mount = readFileSync("/proc/mounts", "utf8")
      .match(/^\S+ \/dev\/shm \S+ (\S+)/m)?.[1]
      ?.split(",");
    if (mount === undefined || mount.includes("noexec") || mount.includes("ro")) return undefined;
    const { bavail, bsize } = statfsSync(FOLDER);
    return bavail * bsize > ENOUGH_BYTES ? FOLDER : undefined;
  } catch {
    return undefined;
  }
}
