import path from "node:path";
import { type Clock, isoTime } from "../lib/clock.ts";
import { makeFolder, removeIfPossible, removeIfPresent } from "../lib/durable.ts";
import { errorCode } from "../lib/error-code.ts";
import type { Processes } from "../lib/processes.ts";
import { publishOnce } from "../lib/publish.ts";
import { randomDigits } from "../lib/random-digits.ts";
import { syncFolder } from "../lib/sync-folder.ts";
import { dropBallast, keepBallast } from "./ballast.ts";
import { type Claim, removeClaims, sweepClaims, takeClaim } from "./claim.ts";
import { StateFolderError } from "./errors.ts";
import { listFolder, readTask } from "./ledger-entry.ts";
import { DRAFT_MARK, openName, timeOfId } from "./ledger-name.ts";
import { LedgerReader } from "./ledger-reader.ts";
import { removeOld } from "./leftovers.ts";
import { hold, letGo, mayBeUnderWay, ownerOf } from "./owners.ts";
import { type Intent, LEDGER_VERSION, type TaskEvent, type TaskRecord } from "./task.ts";
import { TaskFile } from "./task-file.ts";

/** A task that this process may write to. */
export interface OwnedTask {
  record: TaskRecord;
  file: TaskFile;
  /** Whether it was taken over from another process, so that claims on it are there. */
  claimed: boolean;
  /** Lets go of it, unfinished. */
  release(): Promise<void>;
}

/** What decides which of several processes begins a task. */
export interface TaskClaim {
  /** @param draft the task's file, synced, under its first name. @returns whether the task is to be begun from it */
  take(draft: string): Promise<boolean>;
  /** Whether somebody else than who took it may have begun the task. */
  isShared(): boolean;
}

type IntentEvent = Extract<TaskEvent, { type: "intent" }>;

/** The ledger as the processes write it that buy, finish and recover tasks. */
export class Ledger extends LedgerReader {
  readonly #clock: Pick<Clock, "now">;
  readonly #processes: Processes;

  constructor(stateFolder: string, clock: Pick<Clock, "now">, processes: Processes) {
    super(stateFolder);
    this.#clock = clock;
    this.#processes = processes;
  }

  /** Who is at work on this machine. */
  get processes(): Processes {
    return this.#processes;
  }

  /** A name for a task that is begun now: sorts by time, and nobody else has it. */
  newId(): string {
    return `${timeOfId(this.#clock.now())}-${randomDigits()}`;
  }

  /**
   * Writes down what is about to be bought. When this returns the record is on disk, and only then may the
   * request be sent.
   * @throws StateFolderError
   */
  async begin(intent: Intent): Promise<OwnedTask> {
    return this.#guardedBegin(async () => {
      const id = this.newId();
      const line = await this.#intentLine(intent);
      return this.#owned(id, line, await TaskFile.create(this.#fileOf(id), line, this.#makeRoom));
    });
  }

  /**
   * As `begin`, where other processes may want to begin the same: only one of them can.
   * @param claim what they agree by; null where the id itself is known to all of them
   * @returns "taken" where another process has begun it, or has even finished it
   * @throws StateFolderError
   */
  async beginAs(id: string, intent: Intent, claim: TaskClaim | null): Promise<OwnedTask | "taken"> {
    const isFinished = async () => (claim === null || claim.isShared()) && (await this.done.has(id));
    // Looked at before as well as after: whoever is killed between the two must not leave it begun twice.
    const isFree = async (draft: string) =>
      (claim === null || (await claim.take(draft))) && !(await isFinished());
    return this.#guardedBegin(async () => {
      const line = { ...(await this.#intentLine(intent)), id };
      const file = await TaskFile.createWhole(this.#fileOf(id), line, isFree, this.#makeRoom);
      if (file === null) return "taken";
      const task = await this.#owned(id, line, file);
      // It may have been begun, finished and put away between our last look and this.
      try {
        if (!(await isFinished())) return task;
      } catch (error) {
        this.#withdraw(task);
        throw error;
      }
      this.#withdraw(task);
      return "taken";
    });
  }

  /** Takes a task back that was begun, and that nothing was sent for. */
  #withdraw({ file }: OwnedTask): void {
    letGo(file.path);
    file.closeIfPossible();
    removeIfPresent(file.path);
  }

  async #guardedBegin<Begun>(begin: () => Promise<Begun>): Promise<Begun> {
    try {
      return await begin();
    } catch (error) {
      if (error instanceof StateFolderError) throw error;
      throw new StateFolderError(this.folder, error, {
        hint: "Nothing was sent. Free some space or fix its permissions, or set IMGGEN_HOME to another folder.",
      });
    }
  }

  async #intentLine(intent: Intent): Promise<IntentEvent> {
    await makeFolder(this.openFolder, 0o700);
    keepBallast(this.folder);
    const at = isoTime(this.#clock.now());
    return { type: "intent", v: LEDGER_VERSION, at, owner: this.#processes.self, ...intent };
  }

  /** A new file whose name is not on the disk yet must not stay: it would read as a request that was sent. */
  async #owned(id: string, line: IntentEvent, file: TaskFile): Promise<OwnedTask> {
    try {
      await syncFolder(this.openFolder);
    } catch (error) {
      file.closeIfPossible();
      removeIfPossible(file.path);
      throw error;
    }
    hold(file.path);
    const release = async () => {
      letGo(file.path);
      file.close();
    };
    const { type: _type, v: _v, id: _id, at: submittedAt, owner, ...intent } = line;
    const record: TaskRecord = { id, intent, owner, submittedAt, progress: { status: "intended" } };
    return { record, file, claimed: false, release };
  }

  /**
   * Whether the process that began a task is still at its submit, so that nobody can call its outcome unknown. One
   * that only recovers the task does not count.
   */
  isUnderWay(record: TaskRecord): boolean {
    const { self } = this.#processes;
    if (record.progress.status !== "intended") return false;
    if (mayBeUnderWay(record, self, this.#clock.now())) return true;
    const owner = ownerOf(record, this.#fileOf(record.id), self);
    return owner !== null && this.#processes.isAlive(owner);
  }

  /**
   * Puts an unfinished task's file back that was removed from the ledger.
   * @param file the same under another name
   * @throws StateFolderError
   */
  async restore(id: string, file: string): Promise<void> {
    await this.guarded(async () => {
      await makeFolder(this.openFolder, 0o700);
      const restored = this.#fileOf(id);
      await publishOnce(file, restored);
      await syncFolder(path.dirname(restored));
    });
  }

  /** Takes over an unfinished task whose process is gone, or says that one is still at it, or that it is finished. */
  async claim(record: TaskRecord): Promise<OwnedTask | "held" | "finished"> {
    return this.guarded(async () => {
      const { self } = this.#processes;
      if (mayBeUnderWay(record, self, this.#clock.now())) return "held";
      // Whoever has noted that the outcome is unknown has let go of the task, however long it lives.
      const isLeft = record.progress.status === "unknown";
      const owner = isLeft ? null : ownerOf(record, this.#fileOf(record.id), self);
      const result = await takeClaim(this.openFolder, record.id, owner, this.#processes);
      if (result.held) return "held";
      try {
        return await this.#reopen(record.id, result.claim);
      } catch (error) {
        await result.claim.release();
        if (errorCode(error) === "ENOENT") return "finished";
        throw error;
      }
    });
  }

  async #reopen(id: string, claim: Claim): Promise<OwnedTask> {
    const file = await TaskFile.reopen(this.#fileOf(id), this.#makeRoom);
    const release = async () => {
      file.close();
      await claim.release();
    };
    try {
      return { record: await this.#read(id), file, claimed: true, release };
    } catch (error) {
      // The claim is the caller's to give up, once: after that its number may be another's.
      file.close();
      throw error;
    }
  }

  /** An unfinished task as its file stands now. */
  async #read(id: string): Promise<TaskRecord> {
    const file = this.#fileOf(id);
    const read = await readTask(id, file);
    if (read.kind === "task") return read.record;
    throw new Error(`${file} changed while it was read`);
  }

  /**
   * Whether a claim on this id can be of any use. Nobody can go on with a stub, though it may have been claimed: after
   * a power cut, a file whose bytes had not been synced is shorter than whoever claimed it saw it.
   */
  async #isTask(id: string): Promise<boolean> {
    try {
      return (await readTask(id, this.#fileOf(id))).kind !== "stub";
    } catch (error) {
      if (errorCode(error) === "ENOENT") return false;
      throw error;
    }
  }

  /** Moves a finished task out of the way of the unfinished ones. @param record what its lines add up to */
  async finish({ file, claimed }: OwnedTask, record: TaskRecord): Promise<void> {
    letGo(file.path);
    file.close();
    await this.done.take(file.path, record);
    if (claimed) await removeClaims(this.openFolder, record.id);
  }

  /** Removes what killed processes left beside the tasks. */
  async sweep(): Promise<void> {
    const names = listFolder(this.openFolder);
    await sweepClaims(this.openFolder, names, (id) => this.#isTask(id), this.#processes);
    const drafts = names.filter((name) => name.includes(DRAFT_MARK));
    await removeOld(this.openFolder, drafts, this.#clock.now());
  }

  #fileOf(id: string): string {
    return path.join(this.openFolder, openName(id));
  }

  readonly #makeRoom = () => dropBallast(this.folder);
}
