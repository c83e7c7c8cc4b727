import { cpSync, readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { giveToOwnerOfFolder } from "../lib/disk-file.ts";
import { makeFolder, syncFile, syncFolder } from "../lib/durable.ts";
import { randomDigits } from "../lib/write-whole.ts";
import { unsortedNames } from "./ledger-files.ts";
import { isId } from "./ledger-name.ts";
import { StateFolderError } from "./store-errors.ts";

/** Removals are retried, because a command that is being killed might still write files. */
const REMOVE_OPTIONS = { recursive: true, force: true, maxRetries: 5 } as const;

const SCRATCH = "scratch-";
const MAX_SCRATCH_AGE_MS = 24 * 3_600_000;

/** Private folders for the replies of providers, one per attempt. They are removed only after the task has ended. */
export class WorkFolders {
  readonly folder: string;

  constructor(ledgerFolder: string) {
    this.folder = path.join(ledgerFolder, "work");
  }

  attemptFolder(id: string, request: number, attempt: string): string {
    return path.join(this.folder, id, `${request}-${attempt}`);
  }

  /** New folder for a job that is not in the ledger. `sweep` removes it after a day. */
  scratch(): string {
    return path.join(this.folder, `${SCRATCH}${randomDigits()}`);
  }

  /** @throws the disk's error */
  async begin(id: string, request: number, attempt: string): Promise<void> {
    await makeFolder(this.attemptFolder(id, request, attempt), 0o700);
  }

  /**
   * Copies an attempt's replies durably to a folder that only the user removes.
   * @param reply path of another reply to copy, outside the reply folder
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

  /** Never throws, because leftovers do no harm. */
  remove(id: string): void {
    try {
      rmSync(path.join(this.folder, id), REMOVE_OPTIONS);
    } catch {}
  }

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

  /** Whether an attempt has a reply: a non-empty file that is not hidden. @throws StateFolderError */
  hasReply(id: string, request: number, attempt: string): boolean {
    return this.#nonEmptyFiles(id, request, attempt).some((name) => !name.startsWith("."));
  }

  /** Like `hasReply`, but includes hidden files of the provider, because they might show the outcome. */
  hasTrace(id: string, request: number, attempt: string): boolean {
    return this.#nonEmptyFiles(id, request, attempt).length > 0;
  }

  #nonEmptyFiles(id: string, request: number, attempt: string): string[] {
    const folder = this.attemptFolder(id, request, attempt);
    const sizeBytes = (name: string) =>
      statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
    try {
      return unsortedNames(folder).filter((name) => sizeBytes(name) > 0);
    } catch (error) {
      throw new StateFolderError(this.folder, error);
    }
  }
}

async function syncTree(folder: string): Promise<void> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    giveToOwnerOfFolder(file);
    if (entry.isDirectory()) await syncTree(file);
    else if (entry.isFile()) await syncFile(file);
  }
  await syncFolder(folder);
}
