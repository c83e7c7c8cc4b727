import path from "node:path";

/**
 * Whether a folder is the other one or below it. Both are absolute, with links resolved. On Windows the relative path to
 * another drive or server is not `..` but absolute.
 * @param paths the path rules of a platform
 */
export function isBelow(folder: string, other: string, paths: path.PlatformPath = path): boolean {
  const way = paths.relative(other, folder);
  return way.split(paths.sep)[0] !== ".." && !paths.isAbsolute(way);
}
