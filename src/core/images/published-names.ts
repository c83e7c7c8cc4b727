import { promises } from "node:fs";
import path from "node:path";

/**
 * The names of a run's images and sidecars under --overwrite. It replaces files that existed before the run, never an image of the
 * same run or batch: if such an image has the name, the next one gets a number, as without --overwrite.
 */
export class RunFileNames {
  readonly #beganMs: number;
  /** Taken by this run, before the image is published. */
  readonly #taken = new Set<string>();
  /** Used by earlier runs of the same batch. */
  readonly #earlier = new Set<string>();

  /** @param beganMs when the run began, by the wall clock: a newer file may be another process's image and is kept */
  constructor(beganMs: number) {
    this.#beganMs = beganMs;
  }

  /** Adds an image that an earlier run of the same batch published. */
  async addEarlier(file: string): Promise<void> {
    this.#earlier.add(await keyOf(file));
  }

  /**
   * Takes a name for an image or a sidecar that is to replace the existing file.
   * @param submittedMs when its task was submitted: --overwrite does not replace a newer file
   * @returns false if the name is another image's, or the existing file must not be replaced
   */
  async take(file: string, submittedMs: number): Promise<boolean> {
    const key = await keyOf(file);
    if (this.#taken.has(key)) return false;
    // Before the first await, so that only one of two concurrent images gets the name.
    this.#taken.add(key);
    if (await this.#mayBeReplaced(file, key, Math.min(this.#beganMs, submittedMs))) return true;
    this.#taken.delete(key);
    return false;
  }

  /** Releases a name that was not used after all. */
  async giveBack(file: string): Promise<void> {
    this.#taken.delete(await keyOf(file));
  }

  async #mayBeReplaced(file: string, key: string, sinceMs: number): Promise<boolean> {
    const there = await promises.lstat(file).catch(() => null);
    if (there === null) return true;
    if (!there.isFile() && !there.isSymbolicLink()) return false;
    // Another process of the same batch may have just published it.
    return !this.#earlier.has(key) && there.mtimeMs < sinceMs;
  }
}

/** The same key for all spellings of a path: through links in its folder, in any case and Unicode form. */
async function keyOf(file: string): Promise<string> {
  const folder = path.dirname(file);
  const real = await promises.realpath(folder).catch(() => folder);
  return path.join(real, foldedName(file));
}

/** A file name as case-insensitive file systems compare it. */
export function foldedName(file: string): string {
  return path.basename(file).normalize("NFC").toLowerCase();
}
