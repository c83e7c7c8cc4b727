import { createHash } from "node:crypto";
import { readFile, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { errorCode } from "../../lib/error-text.ts";

/** For how long a client that got a 429 is let through. */
const REMEMBERED_MS = 60_000;

/**
 * Answers every second attempt with 429: the first is refused and leaves a mark, the next one removes the mark. The mark
 * is a file, so that the retry may reach another process.
 */
export class Throttle {
  readonly #folder: string;
  readonly #clock: Pick<Clock, "now">;

  constructor(folder: string, clock: Pick<Clock, "now">) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** Whether to answer this account's submit of this prompt with 429. */
  async refuses(account: string, prompt: string): Promise<boolean> {
    const name = createHash("sha256").update(`${account}\0${prompt}`).digest("hex").slice(0, 32);
    const mark = path.join(this.#folder, name);
    const text = String(this.#clock.now());
    if (await createMark(mark, text)) return true;
    if (await useUp(mark, this.#clock.now() - REMEMBERED_MS)) return false;
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

/** Removes a mark that is not older than this. Of two processes that find it, only one can remove it. */
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
