import { promises } from "node:fs";
import path from "node:path";
import { typeFromName } from "../lib/image/format.ts";
import { isNameTaken } from "../lib/publish.ts";

export interface FoundImage {
  /** Path below the folder, with forward slashes. */
  name: string;
  path: string;
  bytes: number;
  modifiedMs: number;
}

export const THUMBNAILS_SUFFIX = "-thumbnails";

/** Name of the empty file that marks a folder of thumbnails of imggen. */
export const MARKER = "made-by-imggen";

/** Whether a folder can be used for thumbnails, because it is missing, empty, or marked by imggen. */
export async function canHaveThumbnails(folder: string): Promise<boolean> {
  if (!(await isNameTaken(folder))) return true;
  const names = await promises.readdir(folder).catch(() => null);
  return names?.length === 0 || (await hasThumbnailMarker(folder));
}

async function hasThumbnailMarker(folder: string): Promise<boolean> {
  return (await promises.lstat(path.join(folder, MARKER)).catch(() => null))?.isFile() ?? false;
}

/** Sorts by name. Skips hidden files, links to folders, node_modules and thumbnails. @throws the system's error */
export async function findImages(folder: string): Promise<FoundImage[]> {
  const images: FoundImage[] = [];
  const walk = async (subfolder: string): Promise<void> => {
    const entries = await promises.readdir(path.join(folder, subfolder), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = path.posix.join(subfolder, entry.name);
      const file = path.join(folder, subfolder, entry.name);
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      if (entry.name.endsWith(THUMBNAILS_SUFFIX) && (await hasThumbnailMarker(file))) continue;
      if (entry.isDirectory()) await walk(name).catch(() => {});
      else if (typeFromName(entry.name) !== null) images.push(...(await listIfRegular(name, file)));
    }
  };
  await walk("");
  return images;
}

async function listIfRegular(name: string, file: string): Promise<FoundImage[]> {
  const stats = await promises.stat(file).catch(() => null);
  return stats?.isFile() ? [{ name, path: file, bytes: stats.size, modifiedMs: stats.mtimeMs }] : [];
}
