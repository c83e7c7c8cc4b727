import { randomBytes } from "node:crypto";
import path from "node:path";
import type { Clock } from "../lib/clock.ts";
import { mapConcurrent } from "../lib/concurrency.ts";
import { createExclusive, makeFolder, removeIfPresent, writeAll } from "../lib/durable.ts";
import { publishOnce, readPublished } from "../lib/publish.ts";
import { syncFolder } from "../lib/sync-folder.ts";
import { StateFolderError } from "./errors.ts";
import { listFolder } from "./ledger-entry.ts";
import { removeOld } from "./leftovers.ts";

const DRAFT = /^\..+\.[0-9a-f]{8}$/;
const CLAIM = /^([0-9a-f]+-\d+)\.(\d+)$/;
const FILES_AT_ONCE = 32;

/**
 * Which task each row of a batch became: a small file for each attempt, named by the row and the attempt's
 * number, that holds the task's name in the ledger. Each is created once, whole, and never changed, so of
 * several processes that come to a row all go by the name that the first one wrote.
 */
export class BatchClaims {
  readonly #folder: string;
  readonly #clock: Pick<Clock, "now">;
  #made = false;

  /** @param batchId what all processes that work on the batch agree on, in hexadecimal digits */
  constructor(ledgerFolder: string, batchId: string, clock: Pick<Clock, "now">) {
    this.#folder = path.join(ledgerFolder, "batches", batchId);
    this.#clock = clock;
  }

  /** The tasks of every row that was ever begun, by row, first attempt first. @throws StateFolderError */
  async load(): Promise<Map<string, string[]>> {
    return this.#guarded(async () => {
      const all = await listFolder(this.#folder);
      const drafts = all.filter((name) => DRAFT.test(name));
      // What a killed process has left is in nobody's way.
      await removeOld(this.#folder, drafts, this.#clock.now()).catch(() => {});
      const names = all.filter((name) => CLAIM.test(name));
      const ids = await mapConcurrent(names, FILES_AT_ONCE, (name) => this.#read(name));
      const claims = new Map<string, string[]>();
      for (const [at, name] of names.entries()) {
        const [, row = "", attempt = ""] = CLAIM.exec(name) ?? [];
        const attempts = claims.get(row) ?? [];
        attempts[Number(attempt) - 1] = ids[at] ?? "";
        claims.set(row, attempts);
      }
      return claims;
    });
  }

  /**
   * Takes an attempt at a row for a task.
   * @param attempt 1 for the first
   * @returns the id of the task that has it: this one, or that of whoever came first
   * @throws StateFolderError
   */
  async claim(row: string, attempt: number, id: string): Promise<string> {
    const name = `${row}.${attempt}`;
    return this.#guarded(async () => {
      if (!this.#made) await makeFolder(this.#folder, 0o700);
      this.#made = true;
      return (await this.#create(name, id)) ? id : this.#read(name);
    });
  }

  /** It must outlive a power cut: without it the row would look as if nobody had ever bought it. */
  async #create(name: string, id: string): Promise<boolean> {
    const draft = path.join(this.#folder, `.${name}.${randomBytes(4).toString("hex")}`);
    try {
      const handle = await createExclusive(draft, 0o600);
      try {
        await writeAll(handle, Buffer.from(`${id}\n`));
        await handle.sync();
      } finally {
        await handle.close();
      }
      if ((await publishOnce(draft, path.join(this.#folder, name))) === "exists") return false;
      await syncFolder(this.#folder);
      return true;
    } finally {
      await removeIfPresent(draft).catch(() => {});
    }
  }

  async #read(name: string): Promise<string> {
    const isWhole = (text: string) => text.endsWith("\n");
    const text = await readPublished(path.join(this.#folder, name), isWhole);
    if (!isWhole(text)) throw new Error(`${name} is not whole`);
    return text.trim();
  }

  async #guarded<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      throw new StateFolderError(this.#folder, error, { hint: "Nothing was sent for this row." });
    }
  }
}
