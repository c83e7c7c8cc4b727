import { createHash } from "node:crypto";
import { readFile, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../../lib/error-code.ts";

/** For how long a client that was told to come back is let in. */
const REMEMBERED_MS = 60_000;

/**
 * Turns every second try away: the first is refused and leaves a mark, the next uses the mark up. The mark is
 * a file, so that a retry may come to another process.
 */
export class Throttle {
  readonly #folder: string;
  readonly #now: () => number;

  constructor(folder: string, now: () => number) {
    this.#folder = folder;
    this.#now = now;
  }

  /** Whether this account is to try this prompt again, rather than be let in now. */
  async turnsAway(account: string, prompt: string): Promise<boolean> {
    const name = createHash("sha256").update(`${account}\0${prompt}`).digest("hex").slice(0, 32);
    const mark = path.join(this.#folder, name);
    const text = String(this.#now());
    if (await createMark(mark, text)) return true;
    if (await useUp(mark, this.#now() - REMEMBERED_MS)) return false;
    await writeFile(mark, text, { mode: 0o600 });
    return true;
  }
}

async function createMark(mark: string, text: string): Promise<boolean> {
  try {
    await writeFile(mark, text, { mode: 0o600, flag: "wx" });
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Removes a mark that is not older than this. Of two that find it, only one gets to remove it. */
async function useUp(mark: string, oldest: number): Promise<boolean> {
  try {
    if (Number(await readFile(mark, "utf8")) < oldest) return false;
    await unlink(mark);
    return true;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}
