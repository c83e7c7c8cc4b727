import { lstatSync, mkdirSync, realpathSync } from "node:fs";
import module from "node:module";
import path from "node:path";
import type { Environment } from "../../client/this-process.ts";

const WRITABLE_BY_OTHERS = 0o022;
const ACCESSIBLE_BY_OTHERS = 0o077;
const WORLD_WRITABLE = 0o002;
/** Mode bit of a folder in which users cannot rename or remove each other's files, such as /tmp. */
const STICKY = 0o1000;
const ROOT = 0;

interface CompileCacheOptions {
  stateFolder: () => string;
  env: Environment;
  /** Effective user id of this process; undefined on Windows. */
  userId: number | undefined;
  enable?: ((folder: string) => unknown) | undefined;
}

/**
 * Makes Node cache compiled code between runs, which shortens the start by a tenth. Node executes the cached code, so
 * only this user may write to the folder. Node's default folder is unsafe, because another user could have created it.
 * Does nothing if NODE_COMPILE_CACHE or NODE_DISABLE_COMPILE_CACHE is set, or the state folder does not exist, so that
 * `imggen --help` creates no folders for a new user.
 */
export function enableCompileCache(options: CompileCacheOptions): void {
  const { env, userId, enable = nodeEnableFunction() } = options;
  if (enable === undefined || userId === undefined) return;
  if (env.NODE_COMPILE_CACHE || env.NODE_DISABLE_COMPILE_CACHE) return;
  try {
    const stateFolder = options.stateFolder();
    if (!isOwnedFolder(stateFolder, userId, WRITABLE_BY_OTHERS)) return;
    const realFolder = realpathSync(stateFolder);
    if (!canOnlyBeReplacedBy(userId, realFolder)) return;
    const folder = path.join(realFolder, "compile-cache");
    if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) mkdirSync(folder, { mode: 0o700 });
    if (isOwnedFolder(folder, userId, ACCESSIBLE_BY_OTHERS)) enable(folder);
  } catch {
    // An error is ignored, because the program only starts more slowly without a cache.
  }
}

/** Whether a path is a folder (not a link) that the user owns, and whose mode has none of the forbidden bits. */
function isOwnedFolder(folder: string, userId: number, forbiddenMode: number): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === userId && (stats.mode & forbiddenMode) === 0;
}

/**
 * Whether no other user can replace the folder after this check, because Node reads the cache until the exit.
 * Group-writable parents are allowed, because many systems give each user a private group.
 * @param folder absolute, links resolved
 */
function canOnlyBeReplacedBy(userId: number, folder: string): boolean {
  const parent = path.dirname(folder);
  if (parent === folder) return true;
  const { uid, mode } = lstatSync(parent);
  const isTrusted =
    (uid === userId || uid === ROOT) && ((mode & WORLD_WRITABLE) === 0 || (mode & STICKY) !== 0);
  return isTrusted && canOnlyBeReplacedBy(userId, parent);
}

/** The type declarations of the oldest supported Node lack `module.enableCompileCache`. */
function nodeEnableFunction(): CompileCacheOptions["enable"] {
  if (!("enableCompileCache" in module)) return undefined;
  const { enableCompileCache } = module;
  return typeof enableCompileCache === "function" ? (folder) => enableCompileCache(folder) : undefined;
}
