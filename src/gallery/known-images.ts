import { promises } from "node:fs";
import path from "node:path";
import { typeNamed } from "../lib/image/format.ts";
import { fieldsOf, isJsonObject, jsonOrNull } from "../lib/json.ts";
import { nameIsTaken } from "../lib/publish.ts";
import { readText } from "../lib/read-file.ts";
import { replaceWhole } from "../lib/write-whole.ts";

/** What an earlier run found out about an image. */
export interface KnownImage {
  bytes: number;
  modifiedMs: number;
  /** Digest in hex. */
  sha256: string;
  width: number;
  height: number;
}

/** An image's file, as a folder lists it. */
interface ListedFile {
  name: string;
  bytes: number;
  modifiedMs: number;
}

const INDEX = "index.json";
const VERSION = 1;

/**
 * Metadata of a folder's images, stored beside their thumbnails, so that an unchanged file is not read again. The file
 * marks the folder as imggen's. It may come from anyone, along with the images.
 */
export class KnownImages {
  readonly #folder: string;
  readonly #images: Map<string, KnownImage>;

  private constructor(folder: string, images: Map<string, KnownImage>) {
    this.#folder = folder;
    this.#images = images;
  }

  /** Reads the index of a folder of thumbnails. Nothing is known in one that is not imggen's. */
  static async read(folder: string): Promise<KnownImages> {
    const images = (await isLink(folder)) ? null : await readIndex(folder);
    return new KnownImages(folder, new Map(Object.entries(images ?? {}).filter(isKnown)));
  }

  get({ name, bytes, modifiedMs }: ListedFile): KnownImage | null {
    const image = this.#images.get(name);
    return image?.bytes === bytes && image.modifiedMs === modifiedMs ? image : null;
  }

  set(name: string, image: KnownImage): void {
    this.#images.set(name, image);
  }

  /** Writes what is known of these, and forgets the rest. */
  async write(names: readonly string[]): Promise<void> {
    const kept = names.flatMap((name) => {
      const image = this.#images.get(name);
      return image ? [[name, image] as const] : [];
    });
    const index = { v: VERSION, images: Object.fromEntries(kept) };
    await replaceWhole(path.join(this.#folder, INDEX), JSON.stringify(index), 0o666);
  }
}

/** Whether thumbnails may be written to this folder: there is none yet, or it is empty, or imggen made it. */
export async function isFreeForThumbnails(folder: string): Promise<boolean> {
  if (!(await nameIsTaken(folder))) return true;
  const names = await promises.readdir(folder).catch(() => null);
  return names?.length === 0 || (await holdsThumbnails(folder));
}

/** Whether imggen made this folder, for thumbnails. */
async function holdsThumbnails(folder: string): Promise<boolean> {
  return (await readIndex(folder)) !== null;
}

/** The images of an index, unchecked; null if there is no index of imggen's. */
async function readIndex(folder: string): Promise<Record<string, unknown> | null> {
  const text = await readText(path.join(folder, INDEX)).catch(() => "");
  const { v, images } = fieldsOf(jsonOrNull(text));
  return v === VERSION && isJsonObject(images) ? images : null;
}

function isKnown(entry: [string, unknown]): entry is [string, KnownImage] {
  const [, image] = entry;
  if (!isJsonObject(image)) return false;
  const { bytes, modifiedMs, sha256, width, height } = image;
  const areNumbers = [bytes, modifiedMs, width, height].every((value) => typeof value === "number");
  return areNumbers && typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256);
}

export async function isLink(file: string): Promise<boolean> {
  return (await promises.lstat(file).catch(() => null))?.isSymbolicLink() ?? false;
}

/** An image file in a folder or below. Its name is the path below the folder, with forward slashes. */
export interface FoundImage extends ListedFile {
  path: string;
}

/** How the folders end that a gallery's thumbnails are in. */
export const THUMBNAILS = "-thumbnails";

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
      else if (typeNamed(entry.name) !== null) found.push(...(await regularFile(name, file)));
    }
  };
  await walk("");
  return found;
}

/** The file, in a list; an empty one if it is no regular file. */
async function regularFile(name: string, file: string): Promise<FoundImage[]> {
  const stats = await promises.stat(file).catch(() => null);
  return stats?.isFile() ? [{ name, path: file, bytes: stats.size, modifiedMs: stats.mtimeMs }] : [];
}
