import { promises } from "node:fs";
import path from "node:path";

/**
 * The names of a run's images under --overwrite, which replaces what was there before the run, and never an image of
 * the same run or batch: those that want a name that is taken by another get a number, as without --overwrite.
 */
export class RunFileNames {
  readonly #beganMs: number;
  /** Taken by this run, whether the image is in place yet or not. */
  readonly #taken = new Set<string>();
  /** Given by earlier runs of the same batch. */
  readonly #earlier = new Set<string>();

  /** @param beganMs when the run began, by the wall clock: whatever is newer is somebody's work of this moment */
  constructor(beganMs: number) {
    this.#beganMs = beganMs;
  }

  /** Notes an image that an earlier run of the same batch has published. */
  async addEarlier(file: string): Promise<void> {
    this.#earlier.add(await keyOf(file));
  }

  /**
   * Takes a name, for an image that is to replace what has it.
   * @param acceptedMs when the image's task was accepted: what came after it is not the old file that was meant
   * @returns false where it is another image's, or what has it must not be replaced
   */
  async take(file: string, acceptedMs: number): Promise<boolean> {
    const key = await keyOf(file);
    if (this.#taken.has(key)) return false;
    // Before anything is awaited: of two images that come at once, only one gets the name.
    this.#taken.add(key);
    if (await this.#mayBeReplaced(file, key, Math.min(this.#beganMs, acceptedMs))) return true;
    this.#taken.delete(key);
    return false;
  }

  /** Gives a name back that no image got. */
  async giveBack(file: string): Promise<void> {
    this.#taken.delete(await keyOf(file));
  }

  async #mayBeReplaced(file: string, key: string, sinceMs: number): Promise<boolean> {
    const there = await promises.lstat(file).catch(() => null);
    if (there === null) return true;
    if (!there.isFile() && !there.isSymbolicLink()) return false;
    // Another process on the same batch may have published it a moment ago.
    return !this.#earlier.has(key) && there.mtimeMs < sinceMs;
  }
}

/** One key for all spellings of a path: links in its folder, upper and lower case, composed and decomposed letters. */
async function keyOf(file: string): Promise<string> {
  const folder = path.dirname(file);
  const real = await promises.realpath(folder).catch(() => folder);
  return path.join(real, foldedName(file));
}

/** A file's name as file systems compare it that ignore case. */
export function foldedName(file: string): string {
  return path.basename(file).normalize("NFC").toLowerCase();
}
