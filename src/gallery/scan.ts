import { promises } from "node:fs";
import path from "node:path";

/** An image file, as the folder lists it. */
export interface FoundImage {
  /** Path below the folder, with forward slashes. */
  name: string;
  path: string;
  bytes: number;
  modifiedMs: number;
}

const EXTENSIONS: ReadonlySet<string> = new Set([".png", ".jpg", ".jpeg", ".webp", ".gif", ".avif"]);

/**
 * The image files in a folder and below, by name. Hidden ones, links to folders, and the folder of thumbnails are left
 * out. @throws the system's error if the folder itself cannot be read
 */
export async function findImages(folder: string, thumbnails: string): Promise<FoundImage[]> {
  const found: FoundImage[] = [];
  const walk = async (below: string): Promise<void> => {
    const entries = await promises.readdir(path.join(folder, below), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = path.posix.join(below, entry.name);
      const file = path.join(folder, below, entry.name);
      if (entry.name.startsWith(".") || entry.name === "node_modules" || file === thumbnails) continue;
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
