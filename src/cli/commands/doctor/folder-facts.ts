import { constants, promises, type Stats } from "node:fs";
import { platform } from "node:os";
import path from "node:path";
import { errorCode } from "../../../lib/error-code.ts";

/** What is known of a folder that imggen keeps something in. Nothing is created to find out. */
export interface FolderFacts {
  exists: boolean;
  /** Its permission bits; null if it does not exist, or the platform has none. */
  mode: number | null;
  /** Of its disk, for this user; null if the system does not say. */
  freeBytes: number | null;
  /** What keeps this user from creating files there, as the system says it; null if nothing does. */
  problem: unknown;
}

/** A folder that need not exist: it would be created in the nearest one above it that does. */
export async function folderFacts(folder: string): Promise<FolderFacts> {
  try {
    const { existing, stats } = await nearest(folder);
    const exists = existing === folder;
    const mode = exists ? modeOf(stats) : null;
    const disk = await promises.statfs(existing).catch(() => null);
    const freeBytes = disk && disk.bavail * disk.bsize;
    return { exists, mode, freeBytes, problem: await problemAt(existing, stats) };
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return { exists: false, mode: null, freeBytes: null, problem: error };
  }
}

/** @throws the disk's error */
async function nearest(folder: string): Promise<{ existing: string; stats: Stats }> {
  try {
    return { existing: folder, stats: await promises.stat(folder) };
  } catch (error) {
    const above = path.dirname(folder);
    if (errorCode(error) !== "ENOENT" || above === folder) throw error;
    return nearest(above);
  }
}

async function problemAt(existing: string, stats: Stats): Promise<unknown> {
  if (!stats.isDirectory())
    return Object.assign(new Error(`${existing} is not a folder`), { code: "ENOTDIR" });
  const access = promises.access(existing, constants.W_OK | constants.X_OK);
  return access.then(() => null).catch((error: unknown) => error);
}

/** Permission bits; null where the platform has none. */
export function modeOf({ mode }: Stats): number | null {
  return platform() === "win32" ? null : mode & 0o777;
}

/** Permission bits as chmod takes them: `0700`. */
export function modeText(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** `512 bytes`, `1.5 GiB`, `120 GiB`. */
export function bytesText(bytes: number): string {
  const at = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const amount = bytes / 1024 ** at;
  return `${amount < 10 ? Math.floor(amount * 10) / 10 : Math.floor(amount)} ${UNITS[at]}`;
}
