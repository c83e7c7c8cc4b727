import { promises } from "node:fs";
import path from "node:path";
import { holdsThumbnails, type ListedFile } from "./known-images.ts";

/** An image file in a folder or below. Its name is the path below the folder, with forward slashes. */
export interface FoundImage extends ListedFile {
  path: string;
}

/** How the folders end that a gallery's thumbnails are in. */
export const THUMBNAILS = "-thumbnails";

const EXTENSIONS: ReadonlySet<string> = new Set([".png", ".jpg", ".jpeg", ".webp", ".gif", ".avif"]);

/**
 * The image files in a folder and below, by name. Hidden ones, links to folders, and the thumbnails of any gallery are
 * left out. @throws the system's error if the folder itself cannot be read
 */
export async function findImages(folder: string): Promise<FoundImage[]> {
  const found: FoundImage[] = [];
  const walk = async (below: string): Promise<void> => {
    const entries = await promises.readdir(path.join(folder, below), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = path.posix.join(below, entry.name);
      const file = path.join(folder, below, entry.name);
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      if (entry.name.endsWith(THUMBNAILS) && (await holdsThumbnails(file))) continue;
      // A folder that cannot be read hides its own images alone.
      if (entry.isDirectory()) await walk(name).catch(() => {});
      else if (EXTENSIONS.has(path.extname(entry.name).toLowerCase()))
        found.push(...(await look(name, file)));
    }
  };
  await walk("");
  return found;
}

async function look(name: string, file: string): Promise<FoundImage[]> {
  const stats = await promises.stat(file).catch(() => null);
  return stats?.isFile() ? [{ name, path: file, bytes: stats.size, modifiedMs: stats.mtimeMs }] : [];
}
