import { lstatSync, mkdirSync, realpathSync } from "node:fs";
import module from "node:module";
import path from "node:path";
import type { Environment } from "../../client/this-process.ts";

const NOT_FOR_WRITING_BY_OTHERS = 0o022;
const FOR_THE_OWNER_ALONE = 0o077;
const WRITABLE_BY_ALL = 0o002;
/** The sticky bit of a folder: users cannot rename or remove other users' files in it. */
const STICKY = 0o1000;
const ROOT = 0;

interface CompileCacheOptions {
  /** Absolute path of the program's state folder; throws if no home folder is known. */
  stateFolder: () => string;
  env: Environment;
  /** The user id that this process acts as; undefined if the system has none (Windows). */
  userId: number | undefined;
  /** Node's own function; undefined on versions before 22.1. */
  enable?: ((folder: string) => unknown) | undefined;
}

/**
 * Has Node keep compiled code between runs, which saves a submit a tenth of its start. Only in a folder of this
 * user's own: Node runs what it finds there as if it were the program, and does not ask whose it is. Its default,
 * below the system's temporary folder, can be made by any other user first.
 *
 * The folder is made below a state folder that is there already, so that `--help` creates nothing in a new home.
 * Without such a folder, or on any error, the program starts without a cache. The user's own NODE_COMPILE_CACHE
 * and NODE_DISABLE_COMPILE_CACHE are left to Node.
 */
export function enableCompileCache(options: CompileCacheOptions): void {
  const { env, userId, enable = ofNode() } = options;
  if (enable === undefined || userId === undefined) return;
  if (env.NODE_COMPILE_CACHE || env.NODE_DISABLE_COMPILE_CACHE) return;
  try {
    const stateFolder = options.stateFolder();
    if (!isOwn(stateFolder, userId, NOT_FOR_WRITING_BY_OTHERS)) return;
    const realFolder = realpathSync(stateFolder);
    if (!canOnlyBeMovedBy(userId, realFolder)) return;
    const folder = path.join(realFolder, "compile-cache");
    if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) mkdirSync(folder, { mode: 0o700 });
    if (isOwn(folder, userId, FOR_THE_OWNER_ALONE)) enable(folder);
  } catch {
    // A cache is no reason to fail.
  }
}

/** Whether this is a folder, no link to one, that the user owns and whose mode has none of these bits. */
function isOwn(folder: string, userId: number, forbiddenMode: number): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === userId && (stats.mode & forbiddenMode) === 0;
}

/**
 * Whether no other user can put another folder in the place of this one after it was checked: Node reads the cache by
 * its path for as long as the program runs. A parent's group may write to it, because many systems give each user a
 * group of their own and a umask that lets it write.
 * @param folder absolute, links resolved
 */
function canOnlyBeMovedBy(userId: number, folder: string): boolean {
  const parent = path.dirname(folder);
  if (parent === folder) return true;
  const { uid, mode } = lstatSync(parent);
  const isTrusted =
    (uid === userId || uid === ROOT) && ((mode & WRITABLE_BY_ALL) === 0 || (mode & STICKY) !== 0);
  return isTrusted && canOnlyBeMovedBy(userId, parent);
}

/** The types of the oldest supported Node do not know it. */
function ofNode(): CompileCacheOptions["enable"] {
  if (!("enableCompileCache" in module)) return undefined;
  const { enableCompileCache } = module;
  return typeof enableCompileCache === "function" ? (folder) => enableCompileCache(folder) : undefined;
}
