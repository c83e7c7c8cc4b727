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
import {
  getCharged,
  isUnknown,
  STATES,
  summaryLines,
  type Task,
  taskFromIntent,
  withLine,
} from "../task/task.ts";
import { CancelMarks } from "./cancel-marks.ts";
import { ForgottenTasks } from "./forgotten-tasks.ts";
import { Holder } from "./holder.ts";
import { type LedgerEntry, LedgerFiles, listFolder } from "./ledger-files.ts";
import { idTime, isTemporaryName, openName, parseTaskName, TEMPORARY_MARK } from "./ledger-name.ts";
import { findByFiles, findByIds, findSameRequest, recentSimilarTasks } from "./ledger-read.ts";
import { recordRowOutcome } from "./row-claims.ts";
import { DailySpending } from "./running-sum.ts";
import { Servers } from "./servers.ts";
import { StateFolderError, withStateFolderErrors } from "./store-errors.ts";
import { LEDGER_VERSION, syncIfPossible, TaskFile } from "./task-file.ts";
import { WorkFolders } from "./work-folders.ts";

/** Maximum number of files that are open at once, well below the system's limit. */
const MAX_OPEN_FILES = 32;

/** Maximum age of a daily sum. Sums of earlier days are kept, because the clock might be set back. */
const MAX_SPENDING_AGE_MS = 7 * 24 * 3_600_000;

const BEGIN_HINT =
  "Nothing was sent. Free some space or fix its permissions, or set IMGGEN_HOME to another folder.";

export interface OwnedTask {
  task: Task;
  part: number;
  file: TaskFile;
}

export interface BeginOptions {
  id?: string;
  /** Whether several processes might begin the task under the same id. Only one succeeds. */
  isShared?: boolean;
  /** Whether the intent also marks the first request as submitted, because it is sent immediately. */
  isSent?: boolean;
  claim?: string | undefined;
  once?: boolean;
  /** Last check before the task begins, called with the path of its synced temporary file. Default: always true. */
  isFree?: (temporary: string) => Promise<boolean>;
}

/**
 * All tasks submitted from this machine. A task is a file, `<id>.jsonl`, and for each takeover another file, such as
 * `<id>.2.jsonl`. Each file is a part of the task. Only the process that created a part writes to the part, and only
 * the process that created the last part works on the task. Before and after a process records a submit or the end of
 * the task, it checks that its part is the last part, so that at least one of two simultaneous processes detects the
 * other process's part. The tickets of `Holder` only show that a process is working on a task.
 */
export class Ledger {
  readonly folder: string;
  readonly clock: Pick<Clock, "now">;
  readonly processes: Processes;
  readonly work: WorkFolders;
  readonly servers: Servers;
  readonly cancels: CancelMarks;
  readonly spending: DailySpending;
  /** Tickets that prevent processes from beginning tasks for the same request at the same time. */
  readonly requests: Tickets;
  readonly files: LedgerFiles;
  readonly #forgotten: ForgottenTasks;
  readonly #holder: Holder;

  constructor(stateFolder: string, clock: Pick<Clock, "now">, processes: Processes) {
    this.clock = clock;
    this.processes = processes;
    this.folder = path.join(stateFolder, "tasks");
    this.files = new LedgerFiles(this.folder);
    this.#forgotten = new ForgottenTasks(this);
    this.work = new WorkFolders(this.folder);
    this.cancels = new CancelMarks(this.folder);
    this.servers = new Servers(this.folder, clock, processes);
    this.spending = new DailySpending(path.join(this.folder, "spent"));
    this.requests = new Tickets(path.join(this.folder, "requests"), processes, clock);
    this.#holder = new Holder(new Tickets(path.join(this.folder, "holders"), processes, clock));
  }

  newId(): string {
    return `${idTime(this.clock.now())}-${randomDigits()}`;
  }

  /**
   * Records an intent durably. The request must not be sent before the returned promise resolves.
   * @returns "taken" if another process has begun or finished the task
   * @throws StateFolderError
   */
  async begin(intent: Intent): Promise<OwnedTask>;
  async begin(intent: Intent, options: BeginOptions): Promise<OwnedTask | "taken">;
  async begin(intent: Intent, options: BeginOptions = {}): Promise<OwnedTask | "taken"> {
    const { id = this.newId(), isFree, isShared = false } = options;
    return withStateFolderErrors(this.folder, BEGIN_HINT, async () => {
      await makeFolder(this.files.openFolder, 0o700);
      ensureReserve(this.folder);
      await this.#holder.hold(id);
      let owned: OwnedTask | null = null;
      try {
        const line = this.#intentLine(id, intent, options);
        const file = this.files.part(id, 1);
        const created = isShared
          ? await TaskFile.createAtomically(
              file,
              line,
              async (temporary) => this.#isFree(id, temporary, isFree),
              this.makeRoom,
            )
          : await TaskFile.create(file, line, this.makeRoom);
        if (created === null) return "taken";
        const candidate = { task: taskFromIntent(id, line), part: 1, file: created };
        await this.#syncName(candidate);
        if (isShared && this.files.isDone(id)) {
          this.#discard(candidate);
          return "taken";
        }
        owned = candidate;
        return owned;
      } finally {
        if (owned === null) this.#holder.release(id);
      }
    });
  }

  async #isFree(id: string, temporary: string, isFree: BeginOptions["isFree"]): Promise<boolean> {
    return ((await isFree?.(temporary)) ?? true) && !this.files.isDone(id);
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

  /** Removes the new file if its name cannot be synced, because it would look like a submitted request. */
  async #syncName(owned: OwnedTask): Promise<void> {
    try {
      await syncFolder(this.files.openFolder);
    } catch (error) {
      owned.file.closeIfPossible();
      removeIfPossible(owned.file.path);
      throw error;
    }
  }

  /** Withdraws an unsent task. Its `not_sent` lines prevent other processes from sending. @throws StateFolderError */
  async withdraw(owned: OwnedTask): Promise<void> {
    const { task, file, part } = owned;
    const lines = task.requests.map(
      (_, request) => ({ type: "not_sent", at: this.#now, why: WITHDRAWN, request }) as const,
    );
    await this.guarded(async () => {
      for (const line of lines) await file.record(line);
      if (part > 1 || !this.hasLastPart(owned)) await this.end(owned, lines.reduce(withLine, task));
      else this.#discard(owned);
    });
    this.#holder.release(task.id);
  }

  #discard({ file }: OwnedTask): void {
    file.closeIfPossible();
    removeIfPresent(file.path);
  }

  /** Whether a living process is working on a task; true if unknown, as on another machine. @throws StateFolderError */
  isClaimed({ id, holder }: Task): boolean {
    return this.#guardedSync(() => this.#holder.isClaimed(id, holder));
  }

  /** Whether the task's process cannot be checked, because it runs on another machine or in a container. */
  isUnreachable({ holder }: Task): boolean {
    const holderProcess = this.#guardedSync(() => this.#holder.findProcess(holder));
    return holderProcess !== null && this.processes.isAlive(holderProcess) === null;
  }

  /** @throws StateFolderError */
  async findWorker(task: Task): Promise<ProcessIdentity | null> {
    const latest = (await this.#readOpen(task.id)) ?? task;
    return this.#guardedSync(() => this.#holder.findProcess(latest.holder)) ?? this.livingServer(latest);
  }

  /** Returns the running server of a task; null if the user must decide about its outcome. @throws StateFolderError */
  async livingServer(task: Task): Promise<ProcessIdentity | null> {
    const { server } = task.intent;
    if (server === undefined || isUnknown(task)) return null;
    return this.guarded(async () => this.servers.findLiving(server));
  }

  /**
   * Takes over an unfinished task whose process is not alive, by creating the task's next part.
   * @param server id of the calling server, because other processes must not take over a running server's tasks
   * @returns "claimed" if another process is working on the task, "ended" if the task is finished
   * @throws StateFolderError
   */
  async take(task: Task, server?: string): Promise<OwnedTask | "claimed" | "ended"> {
    return this.guarded(async () => {
      if (server !== task.intent.server && (await this.livingServer(task)) !== null) return "claimed";
      const latest = (await this.#readOpen(task.id)) ?? null;
      if (latest === null || this.#isLeftover(latest)) return "ended";
      if (this.#holder.has(task.id) || this.isClaimed(latest)) return "claimed";
      await this.#holder.hold(task.id);
      const owned = await this.#nextPart(latest).catch((error: unknown) => {
        this.#holder.release(task.id);
        throw error;
      });
      if (typeof owned === "string") this.#holder.release(task.id);
      return owned;
    });
  }

  async #nextPart({ id, parts, mark }: Task): Promise<OwnedTask | "claimed" | "ended"> {
    const line: Line<"taken"> = { type: "taken", at: this.#now, holder: this.#holder.mark };
    const isOwn = mark === this.#holder.mark;
    const part = isOwn ? parts : parts + 1;
    const file = await this.#openPart(id, part, line, isOwn);
    if (file === null) return isOwn ? "ended" : "claimed";
    try {
      if (!isOwn) await syncFolder(path.dirname(file.path));
      // The last process might have ended before it synced its last line, on which the next step relies.
      for (let earlier = 1; earlier < part; earlier++) await syncIfPossible(this.files.part(id, earlier));
      const task = await this.#readOpen(id);
      if (task !== null && task.parts === part) return { task, part, file };
      // The part must not be removed, because parts that follow a missing part are not found.
      file.release(this.#now);
      return task === null ? "ended" : "claimed";
    } catch (error) {
      file.closeIfPossible();
      throw error;
    }
  }

  /** @returns null if another process has created the part or moved the task */
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

  /** Whether a task is unfinished and this process's part is still the last. @throws the disk's error */
  hasLastPart({ task, part, file }: OwnedTask): boolean {
    if (isPresent(this.files.part(task.id, part + 1)) || !file.isInPlace()) return false;
    return part === 1 || this.files.isOpen(task.id);
  }

  release({ task, file }: OwnedTask, isMine: boolean): void {
    try {
      if (isMine) file.release(this.#now);
      else file.close();
    } finally {
      this.#holder.release(task.id);
    }
  }

  /** @param task in its final state @returns false if another process has taken the task over */
  async end(owned: OwnedTask, task: Task): Promise<boolean> {
    try {
      const isStillOwned = this.hasLastPart(owned);
      owned.file.close();
      if (!isStillOwned) return false;
      if (task.claim !== null) recordRowOutcome(this.folder, task.claim, summaryLines(task));
      await this.files.moveToDone({ ...task, parts: owned.part });
      if (owned.part > 1 && (await this.reopenIfAnswered(task.id))) return true;
      this.work.remove(task.id);
      this.cancels.remove(task.id);
      if (task.intent.isPaid && getCharged(task) === "no") this.spending.forget(task.id);
      return true;
    } finally {
      this.#holder.release(task.id);
    }
  }

  /**
   * Reopens a finished task after a late reply. The process that records the reply and the process that ends the task
   * both call this method after writing, so that at least one of them detects the reply.
   * @returns whether the task was reopened
   * @throws StateFolderError
   */
  async reopenIfAnswered(id: string): Promise<boolean> {
    return this.guarded(async () => {
      if (this.files.isOpen(id)) return false;
      const entry = await this.files.readDone(id);
      if (entry?.kind !== "task" || !STATES[entry.task.state].isOpen) return false;
      await this.files.moveToOpen(id);
      return true;
    });
  }

  /** Moves an unfinished task from `done/` back to `open/`. @throws StateFolderError */
  async reopen(id: string): Promise<void> {
    await this.guarded(() => this.files.moveToOpen(id));
  }

  /** Whether the task's file is in `open/`. @throws StateFolderError */
  isOpen(id: string): boolean {
    return this.#guardedSync(() => this.files.isOpen(id));
  }

  /**
   * Returns an `unknown` line for each request whose process ended before the reply arrived.
   * @param task read after the process ended, because the process might have added lines
   */
  lostReplyLines({ id, intent, requests }: Task): Line<"unknown">[] {
    if (!intent.isPaid) return [];
    return requests.flatMap(({ state, attempt }, request) => {
      if (state !== "started" || attempt === null || this.work.hasTrace(id, request, attempt.name)) return [];
      return [{ type: "unknown", at: this.#now, why: ENDED_MEANWHILE, request, attempt: attempt.name }];
    });
  }

  /** Applies `lostReplyLines` to a task whose process has ended, without recording the lines. */
  async withLostReplies(task: Task): Promise<Task> {
    if (!task.requests.some(({ state }) => state === "started") || this.isClaimed(task)) return task;
    const entry = await this.read(task.id);
    if (entry?.kind !== "task" || this.isClaimed(entry.task))
      return entry?.kind === "task" ? entry.task : task;
    return this.lostReplyLines(entry.task).reduce(withLine, entry.task);
  }

  /** @throws StateFolderError */
  async markCancelled({ id }: Task): Promise<void> {
    await this.guarded(() => this.cancels.add(id));
  }

  isCancelled({ id, state }: Task): boolean {
    return state === "waiting" && this.cancels.has(id);
  }

  sync({ id, parts }: Task): Promise<void> {
    return syncIfPossible(this.files.part(id, parts));
  }

  async unfinished(excluded?: { has(id: string): boolean }): Promise<LedgerEntry[]> {
    return this.guarded(async () => {
      const isExcluded = (name: string) => excluded?.has(parseTaskName(name) ?? "") === true;
      const names = listFolder(this.files.openFolder).filter(
        (name) => !isTemporaryName(name) && !isExcluded(name),
      );
      const entries = await mapConcurrent(names, MAX_OPEN_FILES, async (name) => {
        const entry = await this.files.readOpen(name);
        return entry?.kind === "task" && this.#isLeftover(entry.task) ? null : entry;
      });
      return entries.filter((entry) => entry !== null);
    });
  }

  #isLeftover(task: Task): boolean {
    return hasNoAttempts(task) && this.files.isDone(task.id);
  }

  async #readOpen(id: string): Promise<Task | null> {
    const entry = await this.files.readOpen(openName(id));
    if (entry === null || entry.kind === "task") return entry?.task ?? null;
    const cause = "cause" in entry ? entry.cause : undefined;
    throw cause ?? new Error(`${entry.file} changed while it was read`);
  }

  async read(id: string): Promise<LedgerEntry | null> {
    return this.guarded(async () => {
      const open = await this.files.readOpen(openName(id));
      if (open?.kind === "task" && !hasNoAttempts(open.task)) return open;
      return (await this.files.readDone(id)) ?? open;
    });
  }

  tasksNewestFirst(): AsyncGenerator<LedgerEntry> {
    return this.entries(() => true);
  }

  /**
   * Yields all unfinished tasks and the matching finished tasks, newest first.
   * @param isWanted filter for the file names of finished tasks
   * @param since id of the oldest finished task to include
   */
  async *entries(isWanted: (name: string) => boolean, since = ""): AsyncGenerator<LedgerEntry> {
    const open = (await this.unfinished()).reverse();
    const entryId = (entry: LedgerEntry) =>
      parseTaskName(path.basename(entry.file)) ?? path.basename(entry.file);
    const finished = this.files.doneNewestFirst(isWanted, since);
    for (let next = await this.#next(finished); next; next = await this.#next(finished)) {
      // A task that finished after the first listing is in both.
      if (open[0] && entryId(open[0]) === entryId(next)) open.shift();
      while (open[0] && entryId(open[0]) > entryId(next)) yield open.shift() as LedgerEntry;
      yield next;
    }
    yield* open;
  }

  async #next(entries: AsyncGenerator<LedgerEntry>): Promise<LedgerEntry | undefined> {
    const { value, done } = await this.guarded(() => entries.next());
    return done ? undefined : value;
  }

  async find(id: string): Promise<Task | null> {
    return (await this.findByIds([id])).get(id) ?? null;
  }

  /** Finds the newest task by id or unique prefix (6 characters or more). @throws UsageError if ambiguous */
  findByIds(ids: readonly string[]): Promise<Map<string, Task>> {
    return findByIds(ids, this, true);
  }

  async findExact(id: string): Promise<Task | null> {
    return (await findByIds([id], this, false)).get(id) ?? null;
  }

  /** Finds the newest task with an image file of this SHA-256 digest, in hex. */
  async findByFile(sha256: string): Promise<Task | null> {
    return (await findByFiles(new Set([sha256]), this)).get(sha256) ?? null;
  }

  findByFiles(sha256s: ReadonlySet<string>): Promise<Map<string, Task>> {
    return findByFiles(sha256s, this);
  }

  /**
   * Yields all tasks for the same request and account, newest first.
   * @param sinceMs start time of the oldest finished task to include; default: all
   * @param onOther called for entries that are not readable tasks
   */
  findSameRequest(
    identity: RequestIdentity,
    sinceMs?: number,
    onOther?: (entry: LedgerEntry) => void,
  ): AsyncGenerator<Task, undefined> {
    return findSameRequest(identity, this, sinceMs, onOther);
  }

  /** Returns the latest finished tasks of a service, model and quality, oldest first, at most 50. */
  recentSimilarTasks(
    request: Pick<GenerationRequest, "model" | "quality">,
    service: Pick<ServiceIdentity, "baseUrl">,
  ): Promise<Task[]> {
    return this.guarded(() => recentSimilarTasks(request, service, this.files));
  }

  /**
   * Removes the record and the files of a finished task. The task's charge stays in the day's sum.
   * @returns false if the task is not finished, or `mayForget` returns false
   * @throws StateFolderError
   */
  async forget(id: string, mayForget: (task: Task) => boolean): Promise<boolean> {
    return this.guarded(() => this.#forgotten.forget(id, mayForget));
  }

  async sweep(): Promise<void> {
    await removeOldTemporaryFiles(
      this.files.openFolder,
      (name) => name.includes(TEMPORARY_MARK),
      this.clock.now(),
    );
    const isDone = async (id: string) => this.files.isDone(id);
    await this.work.sweep(isDone, this.clock.now());
    await this.cancels.sweep(isDone);
    this.#forgotten.sweep();
    this.spending.sweep(localDay(new Date(this.clock.now() - MAX_SPENDING_AGE_MS)));
    this.requests.sweep();
    this.#holder.sweep();
  }

  /** @throws StateFolderError instead of a system error; other errors, such as an ambiguous id, are unchanged */
  protected async guarded<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      throw errorCode(error) === undefined ? error : new StateFolderError(this.folder, error);
    }
  }

  #guardedSync<Result>(action: () => Result): Result {
    try {
      return action();
    } catch (error) {
      throw errorCode(error) === undefined ? error : new StateFolderError(this.folder, error);
    }
  }

  protected readonly makeRoom = () => releaseReserve(this.folder);
}

export const ENDED_MEANWHILE = "the process that sent it ended before the reply arrived";

const WITHDRAWN = "it was withdrawn";

function hasNoAttempts({ state, requests }: Task): boolean {
  return state === "waiting" && requests.every(({ attempts }) => attempts.length === 0);
}

const RESERVE_BYTES = 64 * 1024;

const RESERVE_NAME = ".reserve";

/** Creates a file whose space can be released on a full disk, so that a task id can still be recorded. */
function ensureReserve(folder: string): void {
  const reserve = path.join(folder, RESERVE_NAME);
  if (isPresent(reserve)) return;
  try {
    const file = DiskFile.createExclusive(reserve, 0o600);
    try {
      // The content is random, because some file systems store zeros without using space.
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

function releaseReserve(folder: string): void {
  removeIfPresent(path.join(folder, RESERVE_NAME));
}
