import path from "node:path";

/**
 * Whether a folder is another one or lies below it. Both absolute, links resolved. On Windows the way to another
 * drive or server is no `..` but an absolute path.
 * @param paths the path rules of a platform
 */
export function isBelow(folder: string, other: string, paths: path.PlatformPath = path): boolean {
  const way = paths.relative(other, folder);
  return way.split(paths.sep)[0] !== ".." && !paths.isAbsolute(way);
}
