import path from "node:path";
import { hasClaims, leaseOn, removeLeases, sweepLeases } from "../lib/claim-files.ts";
import { isoTime } from "../lib/clock.ts";
import { isPresent, makeFolder, syncFolder } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { type Claim, type LeaseLimits, takeLease, takeLeaseInTurn } from "../lib/lease-files.ts";
import type { ProcessIdentity } from "../lib/processes.ts";
import { publishOnce } from "../lib/publish.ts";
import { removeOldDrafts } from "../lib/write-whole.ts";
import type { RequestIdentity } from "../task/intent.ts";
import type { TaskEvent } from "../task/lifecycle.ts";
import { isUnknown, linesOfLost, type TaskRecord, withEvent } from "../task/record.ts";
import { listFolder, readTask } from "./ledger-entry.ts";
import { DRAFT_MARK, requestTag } from "./ledger-name.ts";
import { holderOf, isOverdue, isOwnerGone, mayBeUnderWay, type OwnedTask } from "./owners.ts";
import { usingStateFolder } from "./store-errors.ts";
import { TaskFile } from "./task-file.ts";
import { TaskStarter } from "./task-starter.ts";

/** The ledger for processes that submit, finish and resume tasks. */
export class Ledger extends TaskStarter {
  /**
   * Runs `work` while no other caller does so for the same request: to search the ledger for a task and to begin one is
   * a single step then, unless `isKept` says afterwards that another caller had the request meanwhile.
   * @throws StateFolderError, the signal's reason, or what `work` throws
   */
  async alone<Result>(
    wanted: RequestIdentity,
    work: (isKept: Claim["isKept"]) => Promise<Result>,
    limits: LeaseLimits,
  ): Promise<Result> {
    const claim = await usingStateFolder(this.folder, "Nothing was sent.", async () => {
      await makeFolder(this.openFolder, 0o700);
      const id = `request-${requestTag(wanted)}`;
      return takeLeaseInTurn(this.openFolder, id, this.processes, limits, () => this.clock.now());
    }).catch((error: unknown) => {
      limits.signal?.throwIfAborted();
      throw error;
    });
    try {
      return await work(() => usingStateFolder(this.folder, "Nothing was sent.", () => claim.isKept()));
    } finally {
      // One that cannot be removed ends with this process.
      await claim.release().catch(() => {});
    }
  }

  /**
   * Whether the process that began a task is still submitting it, so that its outcome is not unknown yet. A process that
   * only resumes the task does not count.
   */
  isUnderWay(record: TaskRecord): boolean {
    if (record.state.name !== "intent" && !("tries" in record.state)) return false;
    return this.isClaimed(record);
  }

  /**
   * Restores an unfinished task's file that was removed from the ledger.
   * @param file the same under another name
   * @throws StateFolderError
   */
  async restore(id: string, file: string): Promise<void> {
    await this.guarded(async () => {
      await makeFolder(this.openFolder, 0o700);
      const restored = this.fileOf(id);
      await publishOnce(file, restored);
      await syncFolder(path.dirname(restored));
    });
  }

  /**
   * The lines that end requests of a task whose process has ended, and that nothing has come of. Nobody has written them.
   * @param record read after its process ended: that may have written more before
   */
  linesOfLost(record: TaskRecord): TaskEvent[] {
    if (!record.requests.some(({ name }) => name === "started")) return [];
    if (!isOwnerGone(record, this.processes, this.clock.now())) return [];
    const isLost = (request: number) => !this.work.isTraced(record.id, request);
    return linesOfLost(record, isLost, isoTime(this.clock.now()));
  }

  /** A task as users are told of it: a reply that can come no more is lost, before `resume` records that. */
  async asItStands(record: TaskRecord): Promise<TaskRecord> {
    if (this.linesOfLost(record).length === 0) return record;
    const entry = await this.read(record.id);
    return entry?.kind === "task" ? this.linesOfLost(entry.record).reduce(withEvent, entry.record) : record;
  }

  /**
   * Whether the process that began a task is still working on it. A process that has taken it over since is only found
   * when the task is claimed.
   */
  isClaimed(record: TaskRecord): boolean {
    return !isOwnerGone(record, this.processes, this.clock.now());
  }

  /** Marks a task as cancelled, for the process that has it and the next one that takes it over. @throws StateFolderError */
  async markCancelled({ id }: TaskRecord): Promise<void> {
    await this.guarded(() => this.cancels.leave(id));
  }

  /** Whether a task is marked as cancelled. */
  isCancelled({ id, state }: TaskRecord): boolean {
    return state.name === "waiting" && this.cancels.has(id);
  }

  /** The process that is working on a task, as far as its file and the claims on it say; null if none is known. */
  async workerOn(record: TaskRecord): Promise<ProcessIdentity | null> {
    const holder = holderOf(record);
    if (holder !== null && this.isClaimed(record)) return holder;
    const lease = await this.guarded(() => leaseOn(this.openFolder, record.id, this.processes));
    return lease === null || "by" in lease ? this.serverOf(record) : lease;
  }

  /**
   * The living server that a task is left to, also while no process works on it; null: none. Only the user can decide about a
   * lost request.
   * @throws StateFolderError
   */
  async serverOf(record: TaskRecord): Promise<ProcessIdentity | null> {
    const { server } = record.intent;
    if (server === undefined || isUnknown(record)) return null;
    return this.guarded(async () => this.servers.living(server));
  }

  /**
   * Syncs the file of an unfinished task: the process that wrote the last record may have ended before it did that.
   * Never throws.
   */
  sync({ id }: TaskRecord): Promise<void> {
    return TaskFile.syncIfPossible(this.fileOf(id));
  }

  /**
   * Takes over an unfinished task whose process is gone.
   * @param server the server that takes one of its own, which any other process leaves to it while it lives
   * @returns "elsewhere" while its process lives, or "finished"
   */
  async claim(record: TaskRecord, server?: string): Promise<OwnedTask | "elsewhere" | "finished"> {
    return this.guarded(async () => {
      const { processes, clock } = this;
      if (server !== record.intent.server && (await this.serverOf(record)) !== null) return "elsewhere";
      if (mayBeUnderWay(record, processes.self, clock.now())) return "elsewhere";
      // A process that has recorded an unknown outcome has released the task, even if it is still alive.
      const ignoresLiving = isOverdue(record, clock.now());
      const isLeft = record.state.name === "unknown" || ignoresLiving;
      const firstOwner = isLeft ? null : holderOf(record);
      const result = await takeLease(this.openFolder, record.id, firstOwner, processes, {
        ignoresLiving,
        now: () => clock.now(),
      });
      if (result.isTaken) return "elsewhere";
      const task = await this.#reopenClaimed(record.id, result.claim);
      // It was read before it was claimed, and an owner on another machine may have continued meanwhile.
      if (task === "finished" || !this.#isInOtherHands(task.record)) return task;
      await task.release();
      return "elsewhere";
    });
  }

  /** Whether a process that was overdue has continued before the task was claimed. */
  #isInOtherHands(record: TaskRecord): boolean {
    const { self } = this.processes;
    if (mayBeUnderWay(record, self, this.clock.now())) return true;
    return "tries" in record.state && this.isClaimed(record);
  }

  async #reopenClaimed(id: string, claim: Claim): Promise<OwnedTask | "finished"> {
    try {
      return await this.#reopen(id, claim);
    } catch (error) {
      await claim.release();
      if (errorCode(error) === "ENOENT") return "finished";
      throw error;
    }
  }

  async #reopen(id: string, claim: Claim): Promise<OwnedTask> {
    const file = await TaskFile.reopen(this.fileOf(id), this.makeRoom);
    try {
      const read = await readTask(id, file.path);
      if (read.kind !== "task") throw new Error(`${file.path} changed while it was read`);
      const { record } = read;
      const release = async () => {
        try {
          file.close();
        } finally {
          await claim.release();
        }
      };
      return { record, file, claim, release };
    } catch (error) {
      // The caller releases the claim once: after that its number may belong to another process.
      file.close();
      throw error;
    }
  }

  /**
   * Whether there is a task that a claim on this id could be for. A stub is not one, though it may have been claimed:
   * after a power cut, a file that was not synced can be shorter than when it was claimed.
   */
  async #isTask(id: string): Promise<boolean> {
    try {
      return (await readTask(id, this.fileOf(id))).kind !== "stub";
    } catch (error) {
      if (errorCode(error) === "ENOENT") return false;
      throw error;
    }
  }

  /**
   * Whether another process has claimed a task since it was begun, as a process on another machine may once the owner's
   * claim has run out. That process reads the task after claiming it, and the owner calls this after writing to it, so
   * at least one of the two learns about the other.
   */
  async isTakenOver({ record, file, claim }: OwnedTask): Promise<boolean> {
    // In this order: when a task is moved to `done`, its claims are removed last.
    const isClaimed = claim ? !(await claim.isKept()) : hasClaims(this.openFolder, record.id);
    return isClaimed || !isPresent(file.path);
  }

  /** Moves a finished task's file to `done`. @param record the task as its lines add up */
  async finish({ file, claim }: OwnedTask, record: TaskRecord): Promise<void> {
    file.close();
    await this.done.take(file.path, record);
    if (record.intent.work) {
      this.work.remove(record.id);
      this.cancels.remove(record.id);
    }
    if (claim) await removeLeases(this.openFolder, record.id);
  }

  /** Whether a task's file is among the unfinished ones. */
  isOpen(id: string): boolean {
    return isPresent(this.fileOf(id));
  }

  /** Whether a task is among the finished ones. */
  async isFinished(id: string): Promise<boolean> {
    return this.guarded(() => this.done.has(id));
  }

  /**
   * Adds a record to a finished task, such as a failed one that the service has completed since. It is one line, appended
   * and synced, so a crash leaves the task in its old or its new state.
   * @throws StateFolderError
   */
  async recordLate(id: string, event: TaskEvent): Promise<void> {
    await this.guarded(() => this.done.record(id, event, this.makeRoom));
  }

  /** Removes what killed processes left beside the tasks. */
  async sweep(): Promise<void> {
    const names = listFolder(this.openFolder);
    const now = () => this.clock.now();
    await sweepLeases(this.openFolder, names, (id) => this.#isTask(id), this.processes, now);
    await removeOldDrafts(this.openFolder, (name) => name.includes(DRAFT_MARK), this.clock.now());
    await this.work.sweep((id) => this.done.has(id));
    await this.cancels.sweep((id) => this.done.has(id));
  }
}
