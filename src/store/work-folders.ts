import { cpSync, readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { giveToOwnerOfFolder } from "../lib/disk-file.ts";
import { makeFolder, syncFile, syncFolder } from "../lib/durable.ts";
import { randomDigits } from "../lib/write-whole.ts";
import { unsortedNames } from "./ledger-files.ts";
import { isId } from "./ledger-name.ts";

/** Retries, because a killed command may still write. */
const REMOVE_OPTIONS = { recursive: true, force: true, maxRetries: 5 } as const;

const SCRATCH = "scratch-";
/** Longer than any wait for a job. */
const MAX_SCRATCH_AGE_MS = 24 * 3_600_000;

/**
 * Private folders for provider replies until their images are saved, one for each attempt to submit a request. A
 * folder is removed only at the end of its task, or by the user.
 */
export class WorkFolders {
  readonly folder: string;

  constructor(ledgerFolder: string) {
    this.folder = path.join(ledgerFolder, "work");
  }

  /** May not exist. */
  attemptFolder(id: string, request: number, attempt: string): string {
    return path.join(this.folder, id, `${request}-${attempt}`);
  }

  /**
   * A folder for replies about a job outside the ledger. The provider has them too, so `sweep` removes an old one.
   */
  scratch(): string {
    return path.join(this.folder, `${SCRATCH}${randomDigits()}`);
  }

  /**
   * Creates the folder of a new attempt.
   * @throws the disk's error
   */
  async begin(id: string, request: number, attempt: string): Promise<void> {
    await makeFolder(this.attemptFolder(id, request, attempt), 0o700);
  }

  /**
   * Copies a saved reply, durably, to a folder that only the user removes: the original is removed with its task.
   * @param reply the file of the reply, if it is outside the attempt's folder
   * @returns the folder's path
   * @throws the disk's error
   */
  async keep(id: string, request: number, attempt: string, reply?: string): Promise<string> {
    const target = path.join(path.dirname(this.folder), "kept", `${id}-${request}`);
    await makeFolder(target, 0o700);
    cpSync(this.attemptFolder(id, request, attempt), target, { recursive: true });
    if (reply !== undefined) cpSync(reply, path.join(target, path.basename(reply)));
    await syncTree(target);
    return target;
  }

  /** Removes the replies of an ended task. Leftovers do no harm. */
  remove(id: string): void {
    try {
      rmSync(path.join(this.folder, id), REMOVE_OPTIONS);
    } catch {
      // The next sweep tries again.
    }
  }

  /**
   * Removes leftovers of ended tasks.
   * @param isFinished whether the task with this id has ended
   */
  async sweep(isFinished: (id: string) => Promise<boolean>, nowMs: number): Promise<void> {
    for (const name of unsortedNames(this.folder)) {
      const isLeftover = isId(name) ? await isFinished(name) : this.#isOldScratch(name, nowMs);
      if (isLeftover) this.remove(name);
    }
  }

  #isOldScratch(name: string, nowMs: number): boolean {
    const stats =
      name.startsWith(SCRATCH) && statSync(path.join(this.folder, name), { throwIfNoEntry: false });
    return stats ? nowMs - stats.mtimeMs > MAX_SCRATCH_AGE_MS : false;
  }

  /** Whether a reply of an attempt is saved: any non-empty, visible file. */
  hasReply(id: string, request: number, attempt: string): boolean {
    return this.#nonEmptyFiles(id, request, attempt).some((name) => !name.startsWith("."));
  }

  /** As `hasReply`, but the provider's hidden notes count too, from which it can determine the outcome. */
  hasTrace(id: string, request: number, attempt: string): boolean {
    return this.#nonEmptyFiles(id, request, attempt).length > 0;
  }

  #nonEmptyFiles(id: string, request: number, attempt: string): string[] {
    const folder = this.attemptFolder(id, request, attempt);
    // Another process may be working in it.
    const sizeBytes = (name: string) =>
      statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
    return unsortedNames(folder).filter((name) => sizeBytes(name) > 0);
  }
}

/** Syncs a folder recursively, and gives its content to the owner of the folder above. */
async function syncTree(folder: string): Promise<void> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    giveToOwnerOfFolder(file);
    if (entry.isDirectory()) await syncTree(file);
    else if (entry.isFile()) await syncFile(file);
  }
  await syncFolder(folder);
}
