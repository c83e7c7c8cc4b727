import { promises } from "node:fs";
import path from "node:path";
import { replaceWhole } from "../lib/write-whole.ts";
import type { FoundImage } from "./scan.ts";

/** What an earlier run found out about an image. */
export interface KnownImage {
  bytes: number;
  modifiedMs: number;
  sha256: string;
  width: number;
  height: number;
}

const INDEX = "index.json";
const VERSION = 1;

/** Metadata of a folder's images, stored beside their thumbnails, so that an unchanged file is not read again. */
export class KnownImages {
  readonly #folder: string;
  readonly #images: Map<string, KnownImage>;

  private constructor(folder: string, images: Map<string, KnownImage>) {
    this.#folder = folder;
    this.#images = images;
  }

  /** @param folder of the thumbnails. A damaged index is as good as none. */
  static async read(folder: string): Promise<KnownImages> {
    try {
      const { v, images } = JSON.parse(await promises.readFile(path.join(folder, INDEX), "utf8"));
      return new KnownImages(folder, new Map(v === VERSION ? Object.entries(images) : []));
    } catch {
      return new KnownImages(folder, new Map());
    }
  }

  get({ name, bytes, modifiedMs }: FoundImage): KnownImage | null {
    const known = this.#images.get(name);
    return known?.bytes === bytes && known.modifiedMs === modifiedMs ? known : null;
  }

  set(name: string, image: KnownImage): void {
    this.#images.set(name, image);
  }

  /** Writes what is known of these, and forgets the rest. */
  async write(names: readonly string[]): Promise<void> {
    const kept = names.flatMap((name) => {
      const known = this.#images.get(name);
      return known ? [[name, known] as const] : [];
    });
    const index = { v: VERSION, images: Object.fromEntries(kept) };
    await replaceWhole(path.join(this.#folder, INDEX), JSON.stringify(index), 0o666);
  }
}
