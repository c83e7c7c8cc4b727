import { randomBytes } from "node:crypto";
import path from "node:path";
import { type Clock, isoTime } from "../lib/clock.ts";
import { mapConcurrent } from "../lib/concurrency.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { isPresent, makeFolder, removeIfPossible, removeIfPresent, syncFolder } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { localDay } from "../lib/local-time.ts";
import type { Processes, ProcessIdentity } from "../lib/processes.ts";
import { Tickets } from "../lib/tickets.ts";
import { randomDigits, removeOldTemporaryFiles } from "../lib/write-whole.ts";
import type { Intent, RequestIdentity, ServiceIdentity } from "../task/intent.ts";
import type { Line } from "../task/line.ts";
import type { GenerationRequest } from "../task/request.ts";
import { begunTask, chargedOf, isUnknown, STATES, summaryOf, type Task, withLine } from "../task/task.ts";
import { CancelMarks } from "./cancel-marks.ts";
import { Holder } from "./holder.ts";
import { type LedgerEntry, LedgerFiles, listFolder } from "./ledger-files.ts";
import { DRAFT_MARK, idOfName, isDraft, openName, timeOfId } from "./ledger-name.ts";
import { findEach, findFiles, recentOfKind, sameRequest } from "./ledger-read.ts";
import { recordRowEnd } from "./row-claims.ts";
import { DailySpending } from "./running-sum.ts";
import { Servers } from "./servers.ts";
import { StateFolderError, usingStateFolder } from "./store-errors.ts";
import { LEDGER_VERSION, syncIfPossible, TaskFile } from "./task-file.ts";
import { WorkFolders } from "./work-folders.ts";

/** Well below the number of open files that a process may have. */
const FILES_AT_ONCE = 32;

/** Sums of earlier days are of no use; a clock may be set back by a day. */
const SPENDING_KEPT_MS = 7 * 24 * 3_600_000;

const NOT_BEGUN =
  "Nothing was sent. Free some space or fix its permissions, or set IMGGEN_HOME to another folder.";

/** A part of a task that this process writes. */
export interface Owned {
  task: Task;
  /** 1 for the process that began the task. */
  part: number;
  file: TaskFile;
}

export interface BeginOptions {
  /** Default: a new one. */
  id?: string;
  /** Whether other processes may use the same id: only one of them begins the task. */
  isShared?: boolean;
  /** Whether its first request counts as sent: it is submitted at once. */
  isSent?: boolean;
  /** As of the intent's line. */
  claim?: string | undefined;
  once?: boolean;
  /** Asked with a synced draft of the task's file, whether the task may be begun. Default: yes. */
  isFree?: (draft: string) => Promise<boolean>;
}

/**
 * Every task submitted from this machine. A task is a file, `<id>.jsonl`, and after each takeover one more, `<id>.2.jsonl` and
 * so on: its parts. Each is created once, by the process that then holds the task, and no other ever writes to it. So who
 * may work on a task has one answer: the process that created its last part. A process looks before and after it writes that a
 * request is sent or that the task is over, and of two that come at once, at least one sees the other's part. The
 * tickets of `Holder` only say whom not to disturb.
 */
export class Ledger {
  readonly folder: string;
  readonly clock: Pick<Clock, "now">;
  readonly processes: Processes;
  /** What providers have sent, until it is saved. */
  readonly work: WorkFolders;
  readonly servers: Servers;
  readonly cancels: CancelMarks;
  /** What accounts may have been charged on a day. */
  readonly spending: DailySpending;
  /** The turns of tasks of which only one may answer for a request. */
  readonly requests: Tickets;
  readonly files: LedgerFiles;
  readonly #holder: Holder;

  constructor(stateFolder: string, clock: Pick<Clock, "now">, processes: Processes) {
    this.clock = clock;
    this.processes = processes;
    this.folder = path.join(stateFolder, "tasks");
    this.files = new LedgerFiles(this.folder);
    this.work = new WorkFolders(this.folder);
    this.cancels = new CancelMarks(this.folder);
    this.servers = new Servers(this.folder, clock, processes);
    this.spending = new DailySpending(path.join(this.folder, "spent"));
    this.requests = new Tickets(path.join(this.folder, "requests"), processes, clock);
    this.#holder = new Holder(new Tickets(path.join(this.folder, "holders"), processes, clock));
  }

  /** A unique id for a task that is begun now; ids sort by time. */
  newId(): string {
    return `${timeOfId(this.clock.now())}-${randomDigits()}`;
  }

  /**
   * Records an intent. When this returns the line is on disk, and only then may the request be sent.
   * @returns "taken" if another process has begun the task, or even finished it
   * @throws StateFolderError
   */
  async begin(intent: Intent): Promise<Owned>;
  async begin(intent: Intent, options: BeginOptions): Promise<Owned | "taken">;
  async begin(intent: Intent, options: BeginOptions = {}): Promise<Owned | "taken"> {
    const { id = this.newId(), isFree, isShared = false } = options;
    return usingStateFolder(this.folder, NOT_BEGUN, async () => {
      await makeFolder(this.files.openFolder, 0o700);
      keepReserve(this.folder);
      await this.#holder.hold(id);
      let owned: Owned | null = null;
      try {
        const line = this.#intentLine(id, intent, options);
        const file = this.files.part(id, 1);
        const created = isShared
          ? await TaskFile.createWhole(
              file,
              line,
              async (draft) => this.#isFree(id, draft, isFree),
              this.makeRoom,
            )
          : await TaskFile.create(file, line, this.makeRoom);
        if (created === null) return "taken";
        const begun = { task: begunTask(id, line), part: 1, file: created };
        await this.#kept(begun);
        // It may have been begun, finished and moved to `done` since the last check.
        if (isShared && this.files.isDone(id)) {
          this.#discard(begun);
          return "taken";
        }
        owned = begun;
        return owned;
      } finally {
        if (owned === null) this.#holder.release(id);
      }
    });
  }

  async #isFree(id: string, draft: string, isFree: BeginOptions["isFree"]): Promise<boolean> {
    return ((await isFree?.(draft)) ?? true) && !this.files.isDone(id);
  }

  #intentLine(id: string, intent: Intent, { isSent, claim, once }: BeginOptions): Line<"intent"> {
    return {
      type: "intent",
      v: LEDGER_VERSION,
      id,
      at: this.#now,
      holder: this.#holder.mark,
      ...(isSent && { attempt: "1.0" }),
      ...(claim !== undefined && { claim }),
      ...(once && { once }),
      ...intent,
    };
  }

  get #now(): string {
    return isoTime(this.clock.now());
  }

  /** If the name of the new file cannot be synced, the file must not stay: it would look like a request that was sent. */
  async #kept(owned: Owned): Promise<void> {
    try {
      await syncFolder(this.files.openFolder);
    } catch (error) {
      owned.file.closeIfPossible();
      removeIfPossible(owned.file.path);
      throw error;
    }
  }

  /**
   * Withdraws a task that was begun and not sent, unless another process has it by now. Whoever takes it over before its file is
   * removed finds that it is not to be sent. @throws StateFolderError
   */
  async withdraw(owned: Owned): Promise<void> {
    const { task, file, part } = owned;
    const lines = task.requests.map(
      (_, request) => ({ type: "not_sent", at: this.#now, why: WITHDRAWN, request }) as const,
    );
    await this.guarded(async () => {
      for (const line of lines) await file.record(line);
      if (part > 1 || !this.isLast(owned)) await this.end(owned, lines.reduce(withLine, task));
      else this.#discard(owned);
    });
    this.#holder.release(task.id);
  }

  #discard({ file }: Owned): void {
    file.closeIfPossible();
    removeIfPresent(file.path);
  }

  /** Whether a living process holds a task, or may: it cannot be asked on another machine. @throws StateFolderError */
  isHeld({ id, holder }: Task): boolean {
    return this.#asked(() => this.#holder.isHeld(id, holder));
  }

  /** Whether the process that holds a task cannot be asked whether it is alive: on another machine, or in a container. */
  isOutOfSight({ holder }: Task): boolean {
    const found = this.#asked(() => this.#holder.processOf(holder));
    return found !== null && this.processes.isAlive(found) === null;
  }

  /** The process that is working on a task; null if none is known. @throws StateFolderError */
  async workerOn(task: Task): Promise<ProcessIdentity | null> {
    const latest = (await this.#readOpen(task.id)) ?? task;
    return this.#asked(() => this.#holder.processOf(latest.holder)) ?? this.serverOf(latest);
  }

  /**
   * The living server that a task is left to, also while no process works on it; null: none. Only the user can decide about a
   * lost request. @throws StateFolderError
   */
  async serverOf(task: Task): Promise<ProcessIdentity | null> {
    const { server } = task.intent;
    if (server === undefined || isUnknown(task)) return null;
    return this.guarded(async () => this.servers.living(server));
  }

  /**
   * Takes an unfinished task whose holder is gone: creates its next part, and goes by what all parts say after that.
   * @param server the server that takes one of its own, which any other process leaves to it while it lives
   * @returns "held" while another process has it, "ended" if it is not among the unfinished
   * @throws StateFolderError
   */
  async take(task: Task, server?: string): Promise<Owned | "held" | "ended"> {
    return this.guarded(async () => {
      if (server !== task.intent.server && (await this.serverOf(task)) !== null) return "held";
      const latest = (await this.#readOpen(task.id)) ?? null;
      if (latest === null || this.#isLeft(latest)) return "ended";
      if (this.#holder.has(task.id) || this.isHeld(latest)) return "held";
      await this.#holder.hold(task.id);
      const owned = await this.#nextPart(latest).catch((error: unknown) => {
        this.#holder.release(task.id);
        throw error;
      });
      if (typeof owned === "string") this.#holder.release(task.id);
      return owned;
    });
  }

  async #nextPart({ id, parts, mark }: Task): Promise<Owned | "held" | "ended"> {
    const line: Line<"taken"> = { type: "taken", at: this.#now, holder: this.#holder.mark };
    const isOwn = mark === this.#holder.mark;
    const part = isOwn ? parts : parts + 1;
    const file = await this.#openPart(id, part, line, isOwn);
    if (file === null) return isOwn ? "ended" : "held";
    try {
      if (!isOwn) await syncFolder(path.dirname(file.path));
      // The process that wrote the last line may have ended before it was synced, and the next step relies on it.
      for (let each = 1; each < part; each++) await syncIfPossible(this.files.part(id, each));
      const task = await this.#readOpen(id);
      if (task !== null && task.parts === part) return { task, part, file };
      // A part is never removed: those after it would be lost.
      file.release(this.#now);
      return task === null ? "ended" : "held";
    } catch (error) {
      file.closeIfPossible();
      throw error;
    }
  }

  /** @returns null if another process has created the part, or the task has been moved */
  async #openPart(id: string, part: number, line: Line, isOwn: boolean): Promise<TaskFile | null> {
    const name = this.files.part(id, part);
    try {
      if (!isOwn) {
        await makeFolder(path.dirname(name), 0o700);
        return await TaskFile.createPart(name, line, this.makeRoom);
      }
      const file = await TaskFile.reopen(name, this.makeRoom);
      await file.record(line);
      return file;
    } catch (error) {
      if (errorCode(error) !== (isOwn ? "ENOENT" : "EEXIST")) throw error;
      return null;
    }
  }

  /** Whether this process still has a task: its part is the last one, and the task is not ended. @throws the disk's error */
  isLast({ task, part, file }: Owned): boolean {
    if (isPresent(this.files.part(task.id, part + 1)) || !file.isInPlace()) return false;
    return part === 1 || this.files.isOpen(task.id);
  }

  /** Leaves a task unfinished for the next process. */
  release({ task, file }: Owned, isMine: boolean): void {
    try {
      if (isMine) file.release(this.#now);
      else file.close();
    } finally {
      this.#holder.release(task.id);
    }
  }

  /**
   * Files a task under the finished ones. @param task as its lines add up
   * @returns false if another process has the task by now: it decides
   */
  async end(owned: Owned, task: Task): Promise<boolean> {
    try {
      const isLast = this.isLast(owned);
      owned.file.close();
      if (!isLast) return false;
      if (task.claim !== null) recordRowEnd(this.folder, task.claim, summaryOf(task));
      await this.files.moveToDone({ ...task, parts: owned.part });
      if (owned.part > 1 && (await this.reopenAnswered(task.id))) return true;
      this.work.remove(task.id);
      this.cancels.remove(task.id);
      if (task.intent.isPaid && chargedOf(task) === "no") this.spending.forget(task.id);
      return true;
    } finally {
      this.#holder.release(task.id);
    }
  }

  /**
   * Moves a finished task back if an answer says that it is not finished. A holder that has lost the task may record one while
   * the next holder ends it: both look after their write, so that one of them sees it.
   * @returns whether it was moved @throws StateFolderError
   */
  async reopenAnswered(id: string): Promise<boolean> {
    return this.guarded(async () => {
      if (this.files.isOpen(id)) return false;
      const entry = await this.files.readDone(id);
      if (entry?.kind !== "task" || !STATES[entry.task.state].isOpen) return false;
      await this.files.moveToOpen(id);
      return true;
    });
  }

  /** Moves a task that is filed under the finished ones, and is not finished, back. @throws StateFolderError */
  async reopen(id: string): Promise<void> {
    await this.guarded(() => this.files.moveToOpen(id));
  }

  /** Whether a task's file is among the unfinished ones. */
  isOpen(id: string): boolean {
    return this.files.isOpen(id);
  }

  /**
   * The lines that end requests of a task whose process has ended, and that nothing has come of. Nobody has written them.
   * @param task read after its process ended: that may have written more before
   */
  linesOfLost({ id, intent, requests }: Task): Line<"unknown">[] {
    if (!intent.isPaid) return [];
    return requests.flatMap(({ state, attempt }, request) => {
      if (state !== "started" || attempt === null || this.work.isTraced(id, request, attempt.name)) return [];
      return [{ type: "unknown", at: this.#now, why: ENDED_MEANWHILE, request, attempt: attempt.name }];
    });
  }

  /** A task as users see it: a reply that can no longer come is lost, before `resume` records that. */
  async asItStands(task: Task): Promise<Task> {
    if (!task.requests.some(({ state }) => state === "started") || this.isHeld(task)) return task;
    const entry = await this.read(task.id);
    if (entry?.kind !== "task" || this.isHeld(entry.task)) return entry?.kind === "task" ? entry.task : task;
    return this.linesOfLost(entry.task).reduce(withLine, entry.task);
  }

  /** Marks a task as cancelled, for the process that has it and the next one that takes it over. @throws StateFolderError */
  async markCancelled({ id }: Task): Promise<void> {
    await this.guarded(() => this.cancels.leave(id));
  }

  /** Whether a task is marked as cancelled. */
  isCancelled({ id, state }: Task): boolean {
    return state === "waiting" && this.cancels.has(id);
  }

  /** Syncs the file of an unfinished task that another process has written. Never throws. */
  sync({ id, parts }: Task): Promise<void> {
    return syncIfPossible(this.files.part(id, parts));
  }

  /**
   * Everything in the folder of the unfinished, oldest first.
   * @param skipped ids of tasks that are left out
   */
  async unfinished(skipped?: { has(id: string): boolean }): Promise<LedgerEntry[]> {
    return this.guarded(async () => {
      const isSkipped = (name: string) => skipped?.has(idOfName(name) ?? "") === true;
      const names = listFolder(this.files.openFolder).filter((name) => !isDraft(name) && !isSkipped(name));
      const entries = await mapConcurrent(names, FILES_AT_ONCE, async (name) => {
        const entry = await this.files.readOpen(name);
        return entry?.kind === "task" && this.#isLeft(entry.task) ? null : entry;
      });
      return entries.filter((entry) => entry !== null);
    });
  }

  /** Whether a process that was killed while it began a task, which another one has finished, has left an intent. */
  #isLeft(task: Task): boolean {
    return isOnlyBegun(task) && this.files.isDone(task.id);
  }

  async #readOpen(id: string): Promise<Task | null> {
    const entry = await this.files.readOpen(openName(id));
    if (entry === null || entry.kind === "task") return entry?.task ?? null;
    const cause = "cause" in entry ? entry.cause : undefined;
    throw cause ?? new Error(`${entry.file} changed while it was read`);
  }

  /** The task with this id of the ledger's own, unfinished or finished; null if there is none. */
  async read(id: string): Promise<LedgerEntry | null> {
    return this.guarded(async () => {
      const open = await this.files.readOpen(openName(id));
      if (open?.kind === "task" && !isOnlyBegun(open.task)) return open;
      return (await this.files.readDone(id)) ?? open;
    });
  }

  /** Every task, newest first, each read only when it is asked for. */
  newestFirst(): AsyncGenerator<LedgerEntry> {
    return this.entries(() => true);
  }

  /**
   * As `newestFirst`.
   * @param wanted which finished tasks to read, by their names
   * @param since an id: no finished task that is older
   */
  async *entries(wanted: (name: string) => boolean, since = ""): AsyncGenerator<LedgerEntry> {
    const open = (await this.unfinished()).reverse();
    const idAt = (entry: LedgerEntry) => idOfName(path.basename(entry.file)) ?? path.basename(entry.file);
    const done = this.files.doneNewestFirst(wanted, since);
    for (let next = await this.#nextOf(done); next; next = await this.#nextOf(done)) {
      // A task that was moved between the two listings is in both.
      if (open[0] && idAt(open[0]) === idAt(next)) open.shift();
      while (open[0] && idAt(open[0]) > idAt(next)) yield open.shift() as LedgerEntry;
      yield next;
    }
    yield* open;
  }

  async #nextOf(entries: AsyncGenerator<LedgerEntry>): Promise<LedgerEntry | undefined> {
    const { value, done } = await this.guarded(() => entries.next());
    return done ? undefined : value;
  }

  /** The newest task with this id, as `findEach` finds it. */
  async find(id: string): Promise<Task | null> {
    return (await this.findEach([id])).get(id) ?? null;
  }

  /**
   * The newest task with each of these ids, the service's or the ledger's own, whole or by a beginning of 6 characters
   * or more that no other id has. An id that the ledger lacks is left out. @throws UsageError if a beginning fits several
   */
  findEach(ids: readonly string[]): Promise<Map<string, Task>> {
    return findEach(ids, this, true);
  }

  /** The newest task with this id, and no other whose id only begins so. */
  async findWhole(id: string): Promise<Task | null> {
    return (await findEach([id], this, false)).get(id) ?? null;
  }

  /** The newest task that a file with these bytes was saved from. @param sha256 in hex */
  async findByFile(sha256: string): Promise<Task | null> {
    return (await findFiles(new Set([sha256]), this)).get(sha256) ?? null;
  }

  /** As `findByFile`, for many in one pass over the names of the ledger. What it lacks is left out. */
  findByFiles(sha256s: ReadonlySet<string>): Promise<Map<string, Task>> {
    return findFiles(sha256s, this);
  }

  /**
   * Every task for the very same request of the same account, newest first.
   * @param sinceMs milliseconds since the epoch: no finished task that was begun earlier. Default: all
   * @param onOther called for files that are no tasks, or cannot be read
   */
  sameRequest(
    wanted: RequestIdentity,
    sinceMs?: number,
    onOther?: (entry: LedgerEntry) => void,
  ): AsyncGenerator<Task, undefined> {
    return sameRequest(wanted, this, sinceMs, onOther);
  }

  /** The latest finished tasks of one service, model and quality, oldest first; a few dozen at most. */
  recentOfKind(
    request: Pick<GenerationRequest, "model" | "quality">,
    service: Pick<ServiceIdentity, "baseUrl">,
  ): Promise<Task[]> {
    return this.guarded(() => recentOfKind(request, service, this.files));
  }

  /** Removes what killed processes left beside the tasks. */
  async sweep(): Promise<void> {
    await removeOldTemporaryFiles(
      this.files.openFolder,
      (name) => name.includes(DRAFT_MARK),
      this.clock.now(),
    );
    const isDone = async (id: string) => this.files.isDone(id);
    await this.work.sweep(isDone, this.clock.now());
    await this.cancels.sweep(isDone);
    this.spending.sweep(localDay(new Date(this.clock.now() - SPENDING_KEPT_MS)));
    this.requests.sweep();
    this.#holder.sweep();
  }

  /**
   * @throws StateFolderError in place of a system error. Any other error is not of the folder: an id that fits several
   * tasks.
   */
  protected async guarded<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      throw errorCode(error) === undefined ? error : new StateFolderError(this.folder, error);
    }
  }

  #asked<Result>(question: () => Result): Result {
    try {
      return question();
    } catch (error) {
      throw errorCode(error) === undefined ? error : new StateFolderError(this.folder, error);
    }
  }

  protected readonly makeRoom = () => releaseReserve(this.folder);
}

/** Cause of a request without an image whose process ended before its reply came. */
export const ENDED_MEANWHILE = "the process that had sent it ended before the reply had come";

const WITHDRAWN = "it was withdrawn";

function isOnlyBegun({ state, requests }: Task): boolean {
  return state === "waiting" && requests.every(({ attempts }) => attempts.length === 0);
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
