import { promises } from "node:fs";
import path from "node:path";
import { typeFromName } from "../lib/image/format.ts";
import { isNameTaken } from "../lib/publish.ts";

/** An image file in a folder or below. */
export interface FoundImage {
  /** The path below the folder, with forward slashes. */
  name: string;
  path: string;
  bytes: number;
  modifiedMs: number;
}

/** Ending of the names of thumbnail folders. */
export const THUMBNAILS = "-thumbnails";

/** An empty file that marks a folder of thumbnails as imggen's. */
export const MARKER = "made-by-imggen";

/** Whether thumbnails may be written to this folder: it does not exist, is empty, or is imggen's. */
export async function isFreeForThumbnails(folder: string): Promise<boolean> {
  if (!(await isNameTaken(folder))) return true;
  const names = await promises.readdir(folder).catch(() => null);
  return names?.length === 0 || (await holdsThumbnails(folder));
}

async function holdsThumbnails(folder: string): Promise<boolean> {
  return (await promises.lstat(path.join(folder, MARKER)).catch(() => null))?.isFile() ?? false;
}

/**
 * The image files in a folder and its subfolders, by name. Hidden files, links to folders and thumbnails are left
 * out.
 * @throws the system's error if the folder itself cannot be read
 */
export async function findImages(folder: string): Promise<FoundImage[]> {
  const images: FoundImage[] = [];
  const walk = async (below: string): Promise<void> => {
    const entries = await promises.readdir(path.join(folder, below), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = path.posix.join(below, entry.name);
      const file = path.join(folder, below, entry.name);
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      if (entry.name.endsWith(THUMBNAILS) && (await holdsThumbnails(file))) continue;
      // An unreadable subfolder hides only its own images.
      if (entry.isDirectory()) await walk(name).catch(() => {});
      else if (typeFromName(entry.name) !== null) images.push(...(await regularFile(name, file)));
    }
  };
  await walk("");
  return images;
}

/** A list of the file; empty unless it is a regular file. */
async function regularFile(name: string, file: string): Promise<FoundImage[]> {
  const stats = await promises.stat(file).catch(() => null);
  return stats?.isFile() ? [{ name, path: file, bytes: stats.size, modifiedMs: stats.mtimeMs }] : [];
}
