import { renameSync, rmSync } from "node:fs";
import path from "node:path";
import { isPresent, makeFolder, removeIfPresent, syncFolder, whileInUse } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { STATES, summaryLines, type Task } from "../task/task.ts";
import { type LedgerFiles, unsortedNames } from "./ledger-files.ts";
import { dayFolder, isId, openName, parseTaskName } from "./ledger-name.ts";
import { adoptedClaims, isRowEnded, recordAdoptedEnd, recordRowEnd } from "./row-claims.ts";

interface LedgerOfAll {
  readonly folder: string;
  readonly files: LedgerFiles;
  isHeld(task: Task): boolean;
}

/**
 * Removes records of finished tasks with all that was kept of them. The move of one file takes a record out of the ledger,
 * whole; all else is removed after it, and by the next sweep if this process is killed. What accounts have spent stays.
 */
export class ForgottenTasks {
  readonly #ledger: LedgerOfAll;
  readonly #folder: string;
  #adopted: ReadonlyMap<string, readonly string[]> | null = null;

  constructor(ledger: LedgerOfAll) {
    this.#ledger = ledger;
    this.#folder = path.join(ledger.folder, "forgotten");
  }

  /**
   * Removes a task's record, unless it is not finished or `mayForget` is false of it.
   * @returns whether it was removed @throws the disk's error
   */
  async forget(id: string, mayForget: (task: Task) => boolean): Promise<boolean> {
    const { files } = this.#ledger;
    const entry = await files.readDone(id);
    if (entry?.kind !== "task" || STATES[entry.task.state].isOpen || !mayForget(entry.task)) return false;
    if (!(await this.#removeLeftIntent(id))) return false;
    await this.#recordInClaims(entry.task);
    await makeFolder(this.#folder, 0o700);
    const name = path.basename(entry.file);
    try {
      await whileInUse(() => renameSync(entry.file, path.join(this.#folder, name)));
    } catch (error) {
      // Another process has reopened it, or has forgotten it.
      if (errorCode(error) === "ENOENT") return false;
      throw error;
    }
    await syncFolder(this.#folder);
    await syncFolder(path.dirname(entry.file));
    this.#finish(name);
    return true;
  }

  /** Removes what killed processes have left of forgotten tasks. @throws the disk's error */
  sweep(): void {
    for (const name of unsortedNames(this.#folder)) if (parseTaskName(name) !== undefined) this.#finish(name);
  }

  /**
   * Removes the intent of a process that was killed while it began a task which another one finished: without the finished
   * record it would wait to be submitted.
   * @returns false if a process is at work on it
   */
  async #removeLeftIntent(id: string): Promise<boolean> {
    const { files } = this.#ledger;
    const open = await files.readOpen(openName(id));
    if (open === null) return true;
    if (!files.isDone(id) || (open.kind === "task" && this.#ledger.isHeld(open.task))) return false;
    removeIfPresent(files.part(id, 1));
    await syncFolder(files.openFolder);
    return true;
  }

  /** Has the claims of the task's rows say how it ended: without that a row would be of unknown outcome. */
  async #recordInClaims(task: Task): Promise<void> {
    const { folder } = this.#ledger;
    const { claim, id } = task;
    if (claim !== null && isPresent(path.join(folder, "batches", claim)))
      if (!(await isRowEnded(folder, claim, id))) recordRowEnd(folder, claim, summaryLines(task));
    this.#adopted ??= await adoptedClaims(folder);
    for (const file of this.#adopted.get(id) ?? []) await recordAdoptedEnd(file, task);
  }

  /** Removes what is kept of a task whose record is out of the ledger, and the record last. */
  #finish(name: string): void {
    const id = parseTaskName(name);
    if (id === undefined || !isId(id)) return;
    const { folder } = this.#ledger;
    const parts = path.join(folder, "parts", dayFolder(id));
    for (const part of unsortedNames(parts))
      if (part.startsWith(`${id}.`)) removeIfPresent(path.join(parts, part));
    rmSync(path.join(folder, "work", id), { recursive: true, force: true });
    removeIfPresent(path.join(folder, "cancelled", id));
    const keptFolder = path.join(folder, "kept");
    for (const copy of unsortedNames(keptFolder))
      if (copy.startsWith(`${id}-`)) rmSync(path.join(keptFolder, copy), { recursive: true, force: true });
    removeIfPresent(path.join(this.#folder, name));
  }
}
