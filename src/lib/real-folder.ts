import { promises } from "node:fs";
import path from "node:path";
import { errorCode } from "./error-text.ts";

/** A folder's canonical path, with links resolved as far as it exists. */
export async function realFolder(folder: string): Promise<string> {
  try {
    return await promises.realpath(folder);
  } catch (error) {
    const parent = path.dirname(folder);
    const code = errorCode(error);
    if ((code !== "ENOENT" && code !== "ENOTDIR") || parent === folder) return folder;
    return path.join(await realFolder(parent), path.basename(folder));
  }
}

/**
 * Whether a folder equals the other one or is below it, both as `realFolder` returns them. On Windows the relative
 * path to another drive is absolute.
 * @param paths the path rules of a platform
 */
export function isBelow(folder: string, other: string, paths: path.PlatformPath = path): boolean {
  const way = paths.relative(other, folder);
  return way.split(paths.sep)[0] !== ".." && !paths.isAbsolute(way);
}
