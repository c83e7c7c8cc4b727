import { cpSync, readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { giveToOwnerOfFolder } from "../lib/disk-file.ts";
import { makeFolder, syncFile, syncFolder } from "../lib/durable.ts";
import { randomDigits } from "../lib/write-whole.ts";
import { namesIn } from "./ledger-files.ts";
import { isId } from "./ledger-name.ts";

/** Tries again, because a killed command may still write. */
const EMPTYING = { recursive: true, force: true, maxRetries: 5 } as const;

const SCRATCH = "scratch-";
/** No wait for one job lasts as long. */
const SCRATCH_KEPT_MS = 24 * 3_600_000;

/**
 * What providers send is kept here until it is saved: a private folder for each attempt to submit a request. Nothing empties
 * one; only the end of its task, or the user, removes it.
 */
export class WorkFolders {
  readonly folder: string;

  constructor(ledgerFolder: string) {
    this.folder = path.join(ledgerFolder, "work");
  }

  /** The folder of an attempt at one of a task's requests. It need not exist. */
  of(id: string, request: number, attempt: string): string {
    return path.join(this.folder, id, `${request}-${attempt}`);
  }

  /** A folder for replies about a job that the ledger lacks. Its provider has them too, so `sweep` removes an old one. */
  scratch(): string {
    return path.join(this.folder, `${SCRATCH}${randomDigits()}`);
  }

  /** Makes the folder of an attempt that is about to be made. @throws the disk's error */
  async begin(id: string, request: number, attempt: string): Promise<void> {
    await makeFolder(this.of(id, request, attempt), 0o700);
  }

  /**
   * Copies a request's kept reply to a folder that only the user removes, and waits until the disk has it: the reply itself
   * is removed with its task.
   * @param reply the file of the reply, if it is outside the attempt's folder
   * @returns its path
   * @throws the disk's error
   */
  async keep(id: string, request: number, attempt: string, reply?: string): Promise<string> {
    const kept = path.join(path.dirname(this.folder), "kept", `${id}-${request}`);
    await makeFolder(kept, 0o700);
    cpSync(this.of(id, request, attempt), kept, { recursive: true });
    if (reply !== undefined) cpSync(reply, path.join(kept, path.basename(reply)));
    await syncTree(kept);
    return kept;
  }

  /** Removes what is kept of a task that is at its end. What cannot be removed does no harm. */
  remove(id: string): void {
    try {
      rmSync(path.join(this.folder, id), EMPTYING);
    } catch {
      // The next sweep tries again.
    }
  }

  /** Removes what is left of tasks that are at their end. @param isFinished whether a task with this id is */
  async sweep(isFinished: (id: string) => Promise<boolean>, nowMs: number): Promise<void> {
    for (const name of namesIn(this.folder)) {
      const isLeft = isId(name) ? await isFinished(name) : this.#isOldScratch(name, nowMs);
      if (isLeft) this.remove(name);
    }
  }

  #isOldScratch(name: string, nowMs: number): boolean {
    const stats =
      name.startsWith(SCRATCH) && statSync(path.join(this.folder, name), { throwIfNoEntry: false });
    return stats ? nowMs - stats.mtimeMs > SCRATCH_KEPT_MS : false;
  }

  /** Whether anything of an attempt is kept: a file with something in it. */
  isKept(id: string, request: number, attempt: string): boolean {
    return this.#filled(id, request, attempt).some((name) => !name.startsWith("."));
  }

  /** As `isKept`; the notes of its provider count too, by which it finds out what came of the request. */
  isTraced(id: string, request: number, attempt: string): boolean {
    return this.#filled(id, request, attempt).length > 0;
  }

  #filled(id: string, request: number, attempt: string): string[] {
    const folder = this.of(id, request, attempt);
    // Another process may be at work in it.
    const sizeOf = (name: string) => statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
    return namesIn(folder).filter((name) => sizeOf(name) > 0);
  }
}

/** Syncs a folder with all that is in it, and gives it to the owner of the folder above. */
async function syncTree(folder: string): Promise<void> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    giveToOwnerOfFolder(file);
    if (entry.isDirectory()) await syncTree(file);
    else if (entry.isFile()) await syncFile(file);
  }
  await syncFolder(folder);
}
