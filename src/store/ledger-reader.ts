import path from "node:path";
import type { Clock } from "../lib/clock.ts";
import { mapConcurrent } from "../lib/concurrency.ts";
import { errorCode } from "../lib/error-code.ts";
import type { Processes } from "../lib/processes.ts";
import { isSameRequest, type ServiceIdentity } from "../task/intent.ts";
import type { TaskState } from "../task/lifecycle.ts";
import type { TaskRecord } from "../task/record.ts";
import type { GenerationRequest } from "../task/request.ts";
import { digestsOf } from "../task/saved-file.ts";
import { DoneTasks } from "./done-tasks.ts";
import { StateFolderError } from "./errors.ts";
import { findTasks, findTasksOfFiles } from "./find-tasks.ts";
import { type LedgerEntry, listFolder, readEntry } from "./ledger-entry.ts";
import {
  fileTag,
  hasTag,
  idOfName,
  isAuxiliary,
  kindTag,
  openName,
  requestTag,
  timeOfId,
} from "./ledger-name.ts";
import { isOwnerGone } from "./owners.ts";
import { Spending } from "./spending.ts";

/** Well below the number of open files that a process may have. */
const FILES_AT_ONCE = 32;

/** More tasks would hardly improve the estimate of how long the next one takes. */
const MOST_OF_KIND = 50;
const FOLDERS_OF_KIND = 200;

/**
 * Every task submitted from this machine, one file each: unfinished ones in `open/`, the others in `done/`. Names sort by
 * time, so the latest few can be read without the others.
 */
export class LedgerReader {
  readonly folder: string;
  protected readonly openFolder: string;
  protected readonly done: DoneTasks;
  readonly clock: Pick<Clock, "now">;
  /** Which processes are alive on this machine. */
  readonly processes: Processes;
  /** Of the account and the day that were asked for last. */
  #spending: { key: string; spending: Spending } | null = null;

  constructor(stateFolder: string, clock: Pick<Clock, "now">, processes: Processes) {
    this.clock = clock;
    this.processes = processes;
    this.folder = path.join(stateFolder, "tasks");
    this.openFolder = path.join(this.folder, "open");
    this.done = new DoneTasks(this.folder);
  }

  /** Everything in the folder of the unfinished, oldest first. */
  async unfinished(): Promise<LedgerEntry[]> {
    return this.guarded(async () => {
      const names = listFolder(this.openFolder).filter((name) => !isAuxiliary(name));
      const entries = await mapConcurrent(names, FILES_AT_ONCE, async (name) => {
        const entry = await this.#readOpen(name);
        return entry && (await this.#isFinished(entry)) ? null : entry;
      });
      return entries.filter((entry) => entry !== null);
    });
  }

  /** Reads one unfinished task; of one that waits to be submitted again, says whether its owner is gone. */
  async #readOpen(name: string): Promise<LedgerEntry | null> {
    const entry = await readEntry(this.openFolder, name);
    if (!waits(entry)) return entry;
    if (!isOwnerGone(entry.record, this.processes, this.clock.now())) return entry;
    // The owner may have written more before it ended, so the file is read again after its end.
    const last = await readEntry(this.openFolder, name);
    if (!waits(last)) return last;
    const { state } = last.record;
    return { ...last, record: { ...last.record, state: { ...state, isOwnerGone: true } } };
  }

  protected fileOf(id: string): string {
    return path.join(this.openFolder, openName(id));
  }

  /** A process killed while beginning a task that another one has finished leaves an intent, which is ignored. */
  async #isFinished(entry: LedgerEntry): Promise<boolean> {
    if (entry.kind !== "task" || entry.record.state.name !== "intent") return false;
    return this.done.has(entry.record.id);
  }

  /**
   * The file of the task with this id of the ledger's own, unfinished or finished; null if there is none.
   */
  async read(id: string): Promise<LedgerEntry | null> {
    return this.guarded(async () => {
      const open = await this.#readOpen(openName(id));
      if (open?.kind === "task" && open.record.state.name !== "intent") return open;
      return (await this.done.read(id)) ?? open;
    });
  }

  /** Every task, newest first, each read only when it is asked for. */
  newestFirst(): AsyncGenerator<LedgerEntry> {
    return this.#newestFirst(() => true);
  }

  /** @param wanted which finished tasks to read, by their names @param since an id: no finished task that is older */
  async *#newestFirst(wanted: (name: string) => boolean, since = ""): AsyncGenerator<LedgerEntry> {
    const open = (await this.unfinished()).reverse();
    const idAt = (entry: LedgerEntry) => idOfName(path.basename(entry.file)) ?? path.basename(entry.file);
    const done = this.done.newestFirst(wanted, since);
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
  async find(id: string): Promise<TaskRecord | null> {
    return (await this.findEach([id])).get(id) ?? null;
  }

  /**
   * The newest task with each of these ids, the service's or the ledger's own, whole or by a beginning of 6 characters
   * or more that no other id has. An id that the ledger lacks is left out. @throws UsageError if a beginning fits
   * several
   */
  async findEach(ids: readonly string[]): Promise<Map<string, TaskRecord>> {
    return findTasks(ids, (wanted) => this.#newestFirst(wanted));
  }

  /** The newest task that a file with these bytes was saved from. @param sha256 in hex */
  async findByFile(sha256: string): Promise<TaskRecord | null> {
    const tag = fileTag(sha256);
    const byFile = this.#search(
      (name) => hasTag(name, tag),
      ({ state }) => state.name === "saved" && state.files.some((file) => digestsOf(file).includes(sha256)),
    );
    return (await byFile.next()).value ?? null;
  }

  /** As `findByFile`, for many in one pass over the names of the ledger. What it lacks is left out. */
  async findByFiles(sha256s: ReadonlySet<string>): Promise<Map<string, TaskRecord>> {
    return findTasksOfFiles(sha256s, (wanted) => this.#newestFirst(wanted));
  }

  /**
   * Every task for the very same request of the same account, newest first.
   * @param sinceMs milliseconds since the epoch: no finished task that was begun earlier. Default: all
   */
  sameRequest(
    request: GenerationRequest,
    service: ServiceIdentity,
    sinceMs?: number,
  ): AsyncGenerator<TaskRecord, undefined> {
    const tag = requestTag(request, service);
    return this.#search(
      (name) => hasTag(name, tag),
      ({ intent }) => isSameRequest(intent, { request, service }),
      sinceMs === undefined ? "" : timeOfId(sinceMs),
    );
  }

  /** The latest finished tasks of one service, model and quality, oldest first; a few dozen at most. */
  async recentOfKind(
    request: Pick<GenerationRequest, "model" | "quality">,
    service: Pick<ServiceIdentity, "baseUrl">,
  ): Promise<TaskRecord[]> {
    const recent = await this.guarded(() =>
      this.done.recent(kindTag(request, service), MOST_OF_KIND, FOLDERS_OF_KIND),
    );
    const records = recent.flatMap((entry) => (entry.kind === "task" ? [entry.record] : []));
    return records
      .filter(
        ({ intent }) => intent.request.model === request.model && intent.request.quality === request.quality,
      )
      .reverse();
  }

  /**
   * What an account has been charged since a moment, or may have been: documented costs alone. It has every task
   * that was announced by now; one that was refused or withdrawn in the last seconds may still count.
   * @param sinceMs milliseconds since the epoch
   */
  async creditsSince(sinceMs: number, keyId: string): Promise<number> {
    const key = `${sinceMs} ${keyId}`;
    const known = this.#spending?.key === key ? this.#spending.spending : null;
    const readOpen = (name: string) => this.#readOpen(name);
    const spending = known ?? new Spending(this.folder, readOpen, this.done, timeOfId(sinceMs), keyId);
    this.#spending = { key, spending };
    return this.guarded(() => spending.total(this.clock.now()));
  }

  /** As `creditsSince`, but reads the whole ledger again and so is exact. */
  async recountCreditsSince(sinceMs: number, keyId: string): Promise<number> {
    this.#spending = null;
    return this.creditsSince(sinceMs, keyId);
  }

  async *#search(
    wanted: (name: string) => boolean,
    matches: (record: TaskRecord) => boolean,
    since = "",
  ): AsyncGenerator<TaskRecord, undefined> {
    for await (const entry of this.#newestFirst(wanted, since)) {
      if (entry.kind === "task" && matches(entry.record)) yield entry.record;
    }
  }

  /** @throws StateFolderError in place of a system error. Any other error is not of the folder: an id that fits several tasks. */
  protected async guarded<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
      throw new StateFolderError(this.folder, error);
    }
  }
}

type Waiting = Extract<LedgerEntry, { kind: "task" }> & {
  record: { state: Extract<TaskState, { name: "rate_limited" }> };
};

function waits(entry: LedgerEntry | null): entry is Waiting {
  return entry?.kind === "task" && entry.record.state.name === "rate_limited";
}
