import { randomBytes } from "node:crypto";
import path from "node:path";
import { isoTime } from "../lib/clock.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { isPresent, makeFolder, removeIfPossible, removeIfPresent, syncFolder } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { randomDigits } from "../lib/write-whole.ts";
import type { Intent } from "../task/intent.ts";
import { begunTask, type IntentEvent } from "../task/record.ts";
import { timeOfId } from "./ledger-name.ts";
import { LedgerReader } from "./ledger-reader.ts";
import { LONGEST_SUBMIT_MS, type OwnedTask, type TaskClaim } from "./owners.ts";
import { usingStateFolder } from "./store-errors.ts";
import { LEDGER_VERSION, TaskFile } from "./task-file.ts";

const NOT_BEGUN =
  "Nothing was sent. Free some space or fix its permissions, or set IMGGEN_HOME to another folder.";

/** The ledger for processes that begin tasks: their intents are on disk before anything is sent. */
export class TaskStarter extends LedgerReader {
  /** A unique id for a task that is begun now; ids sort by time. */
  newId(): string {
    return `${timeOfId(this.clock.now())}-${randomDigits()}`;
  }

  /**
   * Records an intent. When this returns the record is on disk, and only then may the request be sent.
   * @param submitMs how long the submit may take, unless a later record says more
   * @throws StateFolderError
   */
  async begin(intent: Intent, submitMs = LONGEST_SUBMIT_MS): Promise<OwnedTask> {
    const id = this.newId();
    return usingStateFolder(this.folder, NOT_BEGUN, async () => {
      const line = await this.#intentLine(intent, submitMs);
      return this.#owned(id, line, await TaskFile.create(this.fileOf(id), line, this.makeRoom));
    });
  }

  /**
   * As `begin`, for a task that other processes may begin too: only one of them can.
   * @param claim decides which one; null if all of them know the id
   * @returns "taken" if another process has begun it, or even finished it
   * @throws StateFolderError
   */
  async beginAs(
    id: string,
    intent: Intent,
    claim: TaskClaim | null,
    submitMs = LONGEST_SUBMIT_MS,
  ): Promise<OwnedTask | "taken"> {
    const isFinished = async () => (claim === null || claim.isShared()) && (await this.done.has(id));
    // Checked before as well as after, so that a process killed in between does not leave the task begun twice.
    const isFree = async (draft: string) =>
      (claim === null || (await claim.take(draft))) && !(await isFinished());
    return usingStateFolder(this.folder, NOT_BEGUN, async () => {
      const line = { ...(await this.#intentLine(intent, submitMs)), id };
      const file = await TaskFile.createWhole(this.fileOf(id), line, isFree, this.makeRoom);
      if (file === null) return "taken";
      const task = await this.#owned(id, line, file);
      // It may have been begun, finished and moved to `done` since the last check.
      try {
        if (!(await isFinished())) return task;
      } catch (error) {
        this.#discard(task);
        throw error;
      }
      this.#discard(task);
      return "taken";
    });
  }

  /** Withdraws a task that was begun and not sent. @throws StateFolderError */
  async withdraw(task: OwnedTask): Promise<void> {
    await this.guarded(async () => this.#discard(task));
  }

  #discard({ file }: OwnedTask): void {
    file.closeIfPossible();
    removeIfPresent(file.path);
  }

  async #intentLine(intent: Intent, submitMs: number): Promise<IntentEvent> {
    await makeFolder(this.openFolder, 0o700);
    keepReserve(this.folder);
    const now = this.clock.now();
    const [at, until] = [isoTime(now), isoTime(now + submitMs)];
    return { type: "intent", v: LEDGER_VERSION, at, owner: this.processes.self, until, ...intent };
  }

  /** If the name of the new file cannot be synced, the file must not stay: it would look like a request that was sent. */
  async #owned(id: string, line: IntentEvent, file: TaskFile): Promise<OwnedTask> {
    try {
      await syncFolder(this.openFolder);
    } catch (error) {
      file.closeIfPossible();
      removeIfPossible(file.path);
      throw error;
    }
    const release = async () => file.release(isoTime(this.clock.now()));
    return { record: begunTask(id, line), file, claim: null, release };
  }

  protected readonly makeRoom = () => releaseReserve(this.folder);
}

const RESERVE_BYTES = 64 * 1024;

const NAME = ".reserve";

/** Reserves disk space, so that a task id can still be recorded if the disk fills up. */
function keepReserve(folder: string): void {
  const reserve = path.join(folder, NAME);
  if (isPresent(reserve)) return;
  try {
    const file = DiskFile.createExclusive(reserve, 0o600);
    try {
      // Random, because some file systems store a run of zeros in no room at all.
      file.write(randomBytes(RESERVE_BYTES));
    } catch (error) {
      releaseReserve(folder);
      throw error;
    } finally {
      file.close();
    }
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** Releases the reserved space. */
function releaseReserve(folder: string): void {
  removeIfPresent(path.join(folder, NAME));
}
