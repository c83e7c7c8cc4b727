import { promises } from "node:fs";
import path from "node:path";
import { errorCode } from "./error-text.ts";

/** Returns a folder's path with all links resolved, as far as the path exists. */
export async function canonicalFolder(folder: string): Promise<string> {
  try {
    return await promises.realpath(folder);
  } catch (error) {
    const parent = path.dirname(folder);
    const code = errorCode(error);
    if ((code !== "ENOENT" && code !== "ENOTDIR") || parent === folder) return folder;
    return path.join(await canonicalFolder(parent), path.basename(folder));
  }
}

/** Whether a folder is `other` or below `other`. Both paths must come from `canonicalFolder`. */
export function isBelow(folder: string, other: string, paths: path.PlatformPath = path): boolean {
  const relativePath = paths.relative(other, folder);
  return relativePath.split(paths.sep)[0] !== ".." && !paths.isAbsolute(relativePath);
}
