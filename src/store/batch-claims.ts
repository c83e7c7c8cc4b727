import path from "node:path";
import type { Clock } from "../lib/clock.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { isPresent, makeFolder, syncFolder } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { publishOnce } from "../lib/publish.ts";
import { createWhole, draftedFile, removeOldDrafts } from "../lib/write-whole.ts";
import { attemptName, ClaimReader, COPY_LINE } from "./claim-reader.ts";
import type { TaskClaim } from "./owners.ts";

/**
 * The tasks of each row of a batch: a small file for each attempt, named by the row and the attempt's number, that
 * begins with the task's ledger id. Each is created once and completely, so that all processes use the id that the first
 * one wrote.
 */
export class BatchClaims extends ClaimReader {
  readonly #clock: Pick<Clock, "now">;
  #made = false;

  constructor(ledgerFolder: string, batchId: string, clock: Pick<Clock, "now">) {
    super(ledgerFolder, batchId);
    this.#clock = clock;
  }

  /**
   * An attempt at a row, for a task that is begun with it: the claim is the task's own file under a second name. The first
   * process that claims it begins its task.
   * @param attempt 1 for the first
   */
  attempt(row: string, attempt: number): TaskClaim {
    const name = attemptName(row, attempt);
    return {
      take: (draft) => this.guarded(() => this.#give(name, draft)),
      isShared: () => isPresent(this.#sharedMark(name)),
    };
  }

  /**
   * Takes an attempt at a row for a task that is there already.
   * @returns the id of the task that has it: this one, or another one that was first
   * @throws StateFolderError
   */
  async claim(row: string, attempt: number, id: string): Promise<string> {
    const name = attemptName(row, attempt);
    return this.guarded(async () => ((await this.#create(name, id)) ? id : this.ownerIn(name)));
  }

  /**
   * Marks that another process than the one that claimed an attempt is about to begin its task, because the first one
   * seems to have been killed. Written before anything is begun, so that the first one sees it if it is still alive.
   * @throws StateFolderError
   */
  async share(row: string, attempt: number): Promise<void> {
    await this.guarded(async () => {
      try {
        DiskFile.createExclusive(this.#sharedMark(attemptName(row, attempt)), 0o600).close();
      } catch (error) {
        if (errorCode(error) !== "EEXIST") throw error;
      }
      // The killed process may not have synced it, and the claim must survive a power cut.
      await syncFolder(this.folder);
    });
  }

  #sharedMark(name: string): string {
    return path.join(this.folder, `${name}.shared`);
  }

  async #create(name: string, id: string): Promise<boolean> {
    await this.#makeFolder();
    return createWhole(path.join(this.folder, name), `${id}\n`, 0o600);
  }

  /** It must survive a power cut: without it the row would count as never submitted. */
  async #give(name: string, draft: string): Promise<boolean> {
    await this.#makeFolder();
    const file = path.join(this.folder, name);
    const result = await publishOnce(draft, file);
    if (result === "copied") await markAsCopy(file);
    if (result === "exists") return false;
    await syncFolder(this.folder);
    return true;
  }

  async #makeFolder(): Promise<void> {
    if (this.#made) return;
    await makeFolder(this.folder, 0o700);
    this.#made = true;
    // Only where a claim is written, never in a dry run. A draft left by a killed process does no harm.
    const isDraft = (name: string) => draftedFile(name) !== undefined;
    await removeOldDrafts(this.folder, isDraft, this.#clock.now()).catch(() => {});
  }
}

/**
 * Marks a claim as a copy of its task's file, on a file system without hard links: later records of the task are not
 * added to it. Written before anything is sent.
 */
async function markAsCopy(file: string): Promise<void> {
  const claim = DiskFile.openToAppend(file);
  try {
    claim.write(Buffer.from(COPY_LINE));
    await claim.sync();
  } finally {
    claim.close();
  }
}
