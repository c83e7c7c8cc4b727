import path from "node:path";
import type { Clock } from "../lib/clock.ts";
import { mapConcurrent } from "../lib/concurrency.ts";
import { errorCode } from "../lib/error-text.ts";
import type { Processes } from "../lib/processes.ts";
import type { TaskState } from "../task/lifecycle.ts";
import { CancelMarks } from "./cancel-marks.ts";
import { DoneTasks } from "./done-tasks.ts";
import { type LedgerEntry, listFolder, readEntry } from "./ledger-entry.ts";
import { idOfName, isAuxiliary, openName } from "./ledger-name.ts";
import { isOwnerGone } from "./owners.ts";
import { Servers } from "./servers.ts";
import { StateFolderError } from "./store-errors.ts";
import { WorkFolders } from "./work-folders.ts";

/** Well below the number of open files that a process may have. */
const FILES_AT_ONCE = 32;

/**
 * Every task submitted from this machine, one file each: unfinished ones in `open/`, the others in `done/`. Names sort by
 * time, so the latest few can be read without the others.
 */
export class LedgerFiles {
  readonly folder: string;
  protected readonly openFolder: string;
  protected readonly done: DoneTasks;
  /** What providers have sent, until it is saved. */
  readonly work: WorkFolders;
  readonly servers: Servers;
  readonly cancels: CancelMarks;
  readonly clock: Pick<Clock, "now">;
  /** Which processes are alive on this machine. */
  readonly processes: Processes;

  constructor(stateFolder: string, clock: Pick<Clock, "now">, processes: Processes) {
    this.clock = clock;
    this.processes = processes;
    this.folder = path.join(stateFolder, "tasks");
    this.openFolder = path.join(this.folder, "open");
    this.done = new DoneTasks(this.folder);
    this.work = new WorkFolders(this.folder);
    this.cancels = new CancelMarks(this.folder);
    this.servers = new Servers(this.folder, clock, processes);
  }

  /**
   * Everything in the folder of the unfinished, oldest first.
   * @param skipped ids of tasks that are left out
   */
  async unfinished(skipped?: { has(id: string): boolean }): Promise<LedgerEntry[]> {
    return this.guarded(async () => {
      const isSkipped = (name: string) => skipped?.has(idOfName(name) ?? "") === true;
      const names = listFolder(this.openFolder).filter((name) => !isAuxiliary(name) && !isSkipped(name));
      const entries = await mapConcurrent(names, FILES_AT_ONCE, async (name) => {
        const entry = await this.readOpen(name);
        return entry && (await this.#isFinished(entry)) ? null : entry;
      });
      return entries.filter((entry) => entry !== null);
    });
  }

  /** Reads one unfinished task; of one that waits to be submitted again, says whether its owner is gone. */
  protected async readOpen(name: string): Promise<LedgerEntry | null> {
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
      const open = await this.readOpen(openName(id));
      if (open?.kind === "task" && open.record.state.name !== "intent") return open;
      return (await this.done.read(id)) ?? open;
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
  protected async *entries(wanted: (name: string) => boolean, since = ""): AsyncGenerator<LedgerEntry> {
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

  /**
   * @throws StateFolderError in place of a system error. Any other error is not of the folder: an id that fits several
   * tasks.
   */
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
