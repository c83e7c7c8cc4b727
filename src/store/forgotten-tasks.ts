import { renameSync, rmSync } from "node:fs";
import path from "node:path";
import { isPresent, makeFolder, removeIfPresent, retryWhileInUse, syncFolder } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { STATES, summaryLines, type Task } from "../task/task.ts";
import { type LedgerFiles, unsortedNames } from "./ledger-files.ts";
import { isId, minuteFolder, openName, parseTaskName } from "./ledger-name.ts";
import { findAdoptedClaims, hasRowOutcome, recordAdoptedOutcome, recordRowOutcome } from "./row-claims.ts";

interface TaskLedger {
  readonly folder: string;
  readonly files: LedgerFiles;
  isClaimed(task: Task): boolean;
}

/**
 * Removes finished tasks with all of their files. The task's record is first moved to another folder, so that the next
 * sweep completes an interrupted removal. Charges stay in the daily sums.
 */
export class ForgottenTasks {
  readonly #ledger: TaskLedger;
  readonly #folder: string;
  #adopted: ReadonlyMap<string, readonly string[]> | null = null;

  constructor(ledger: TaskLedger) {
    this.#ledger = ledger;
    this.#folder = path.join(ledger.folder, "forgotten");
  }

  /** @returns false if the task is not finished or `mayForget` returns false @throws the disk's error */
  async forget(id: string, mayForget: (task: Task) => boolean): Promise<boolean> {
    const { files } = this.#ledger;
    const entry = await files.readDone(id);
    if (entry?.kind !== "task" || STATES[entry.task.state].isOpen || !mayForget(entry.task)) return false;
    if (!(await this.#removeLeftoverIntent(id))) return false;
    await this.#recordInClaims(entry.task);
    await makeFolder(this.#folder, 0o700);
    const name = path.basename(entry.file);
    try {
      await retryWhileInUse(() => renameSync(entry.file, path.join(this.#folder, name)));
    } catch (error) {
      // Another process has reopened or removed the task.
      if (errorCode(error) === "ENOENT") return false;
      throw error;
    }
    await syncFolder(this.#folder);
    await syncFolder(path.dirname(entry.file));
    this.#removeFiles(name);
    return true;
  }

  /** Completes interrupted removals. @throws the disk's error */
  sweep(): void {
    for (const name of unsortedNames(this.#folder))
      if (parseTaskName(name) !== undefined) this.#removeFiles(name);
  }

  /**
   * Removes an intent left in `open/` by a killed process, because it would be submitted again.
   * @returns false if a process is working on the task
   */
  async #removeLeftoverIntent(id: string): Promise<boolean> {
    const { files } = this.#ledger;
    const open = await files.readOpen(openName(id));
    if (open === null) return true;
    if (!files.isDone(id) || (open.kind === "task" && this.#ledger.isClaimed(open.task))) return false;
    removeIfPresent(files.part(id, 1));
    await syncFolder(files.openFolder);
    return true;
  }

  /** Records the outcome in the task's claims, because otherwise the outcome of their rows would be unknown. */
  async #recordInClaims(task: Task): Promise<void> {
    const { folder } = this.#ledger;
    const { claim, id } = task;
    if (claim !== null && isPresent(path.join(folder, "batches", claim)))
      if (!(await hasRowOutcome(folder, claim, id))) recordRowOutcome(folder, claim, summaryLines(task));
    this.#adopted ??= await findAdoptedClaims(folder);
    for (const file of this.#adopted.get(id) ?? []) await recordAdoptedOutcome(file, task);
  }

  /** Removes the record last, so that the next sweep repeats an interrupted removal. */
  #removeFiles(name: string): void {
    const id = parseTaskName(name);
    if (id === undefined || !isId(id)) return;
    const { folder } = this.#ledger;
    const parts = path.join(folder, "parts", minuteFolder(id));
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
