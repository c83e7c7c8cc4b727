import { randomBytes } from "node:crypto";
import { readFile, rename } from "node:fs/promises";
import path from "node:path";
import { type Clock, isoTime } from "../lib/clock.ts";
import { mapConcurrent } from "../lib/concurrency.ts";
import { errorCode, makeFolder, removeIfPresent, syncFolder } from "../lib/durable.ts";
import type { Processes, ProcessIdentity } from "../lib/processes.ts";
import { dropBallast, keepBallast } from "./ballast.ts";
import { type Claim, removeClaims, takeClaim } from "./claim.ts";
import { StateFolderError } from "./errors.ts";
import { CLAIM_NAME, dayOf, type LedgerEntry, listFolder, readEntry } from "./ledger-entry.ts";
import type { Intent, TaskEvent, TaskRecord } from "./task.ts";
import { TaskFile } from "./task-file.ts";
import { LEDGER_VERSION, readTaskLines } from "./task-lines.ts";

/** A task that this process may write to. */
export interface OwnedTask {
  record: TaskRecord;
  file: TaskFile;
  /** Lets go of it, unfinished. */
  release(): Promise<void>;
}

/** Well below the number of open files that systems allow a process. */
const FILES_AT_ONCE = 32;

/** The task files that this process holds, in any ledger it has open. */
const ownedHere = new Set<string>();

/**
 * Every task this machine has asked for, one file each: `open/` holds what is not finished, `done/<day>/` the
 * rest. Names sort by time, so the latest few can be read without the others.
 */
export class Ledger {
  readonly folder: string;
  readonly #clock: Pick<Clock, "now">;
  readonly #processes: Processes;

  constructor(stateFolder: string, clock: Pick<Clock, "now">, processes: Processes) {
    this.folder = path.join(stateFolder, "tasks");
    this.#clock = clock;
    this.#processes = processes;
  }

  get #open(): string {
    return path.join(this.folder, "open");
  }

  /**
   * Writes down what is about to be bought. When this returns the record is on disk, and only then may the
   * request be sent.
   * @throws StateFolderError
   */
  async begin(intent: Intent): Promise<OwnedTask> {
    const now = this.#clock.now();
    const id = `${isoTime(now).replace(/[-:.Z]/g, "")}-${randomBytes(4).toString("hex")}`;
    const at = isoTime(now);
    const owner = this.#processes.self;
    const line: TaskEvent = { type: "intent", v: LEDGER_VERSION, at, owner, ...intent };
    try {
      await makeFolder(this.#open, 0o700);
      await keepBallast(this.folder);
      const file = await this.#create(this.#fileOf(id), line);
      const record: TaskRecord = { id, intent, owner, submittedAt: at, progress: { status: "intended" } };
      ownedHere.add(file.path);
      const release = async () => {
        ownedHere.delete(file.path);
        await file.close();
      };
      return { record, file, release };
    } catch (error) {
      throw new StateFolderError(this.folder, error, {
        hint: "Nothing was sent. Free some space or fix its permissions, or set IMGGEN_HOME to another folder.",
      });
    }
  }

  /** A file whose name is not on the disk yet must not stay: it would read as a request that was sent. */
  async #create(file: string, first: TaskEvent): Promise<TaskFile> {
    const created = await TaskFile.create(file, first, this.#makeRoom);
    try {
      await syncFolder(this.#open);
      return created;
    } catch (error) {
      await created.close().catch(() => {});
      await removeIfPresent(file).catch(() => {});
      throw error;
    }
  }

  /** Takes over an unfinished task whose process is gone, or says that one is still at it, or that it is finished. */
  async claim(record: TaskRecord): Promise<OwnedTask | "held" | "finished"> {
    return this.#guarded(async () => {
      const result = await takeClaim(this.#open, record.id, this.#ownerOf(record), this.#processes);
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

  /** Who bought a task and may still be at it; nobody where this very process did and has let go of it. */
  #ownerOf({ id, owner }: TaskRecord): ProcessIdentity | null {
    const { self } = this.#processes;
    const ours = owner.pid === self.pid && owner.host === self.host && owner.started === self.started;
    return ours && !ownedHere.has(this.#fileOf(id)) ? null : owner;
  }

  /** @throws StateFolderError in place of what the system said */
  async #guarded<Result>(action: () => Promise<Result>): Promise<Result> {
    try {
      return await action();
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
      throw new StateFolderError(this.folder, error);
    }
  }

  async #reopen(id: string, claim: Claim): Promise<OwnedTask> {
    const file = await TaskFile.reopen(this.#fileOf(id), this.#makeRoom);
    const release = async () => {
      await file.close();
      await claim.release();
    };
    try {
      const read = readTaskLines(id, await readFile(file.path, "utf8"));
      if (read.kind === "task") return { record: read.record, file, release };
      throw new Error(`${file.path} changed while it was read`);
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** Moves a finished task out of the way of the unfinished ones. */
  async finish(task: OwnedTask): Promise<void> {
    ownedHere.delete(task.file.path);
    await task.file.close();
    await this.#moveToDone(task.record.id);
    await removeClaims(this.#open, task.record.id);
  }

  async #moveToDone(id: string): Promise<void> {
    const folder = path.join(this.folder, "done", dayOf(id));
    await makeFolder(folder, 0o700);
    // Not synced: after a power cut the file is in one place or the other, and says itself that it is finished.
    await rename(this.#fileOf(id), path.join(folder, `${id}.jsonl`));
  }

  /** Everything in the folder of the unfinished, oldest first. */
  async unfinished(): Promise<LedgerEntry[]> {
    return this.#guarded(async () => {
      const names = (await listFolder(this.#open)).filter((name) => !CLAIM_NAME.test(name));
      const entries = await mapConcurrent(names, FILES_AT_ONCE, (name) => readEntry(this.#open, name));
      return entries.filter((entry) => entry !== null);
    });
  }

  /** Every task, newest first, each read only when it is asked for. */
  async *newestFirst(): AsyncGenerator<LedgerEntry> {
    const open = (await this.unfinished()).reverse();
    for await (const entry of this.#doneNewestFirst()) {
      // One that was moved between the two listings is in both.
      if (open[0] && path.basename(open[0].file) === path.basename(entry.file)) open.shift();
      while (open[0] && path.basename(open[0].file) > path.basename(entry.file))
        yield open.shift() as LedgerEntry;
      yield entry;
    }
    yield* open;
  }

  async *#doneNewestFirst(): AsyncGenerator<LedgerEntry> {
    const done = path.join(this.folder, "done");
    for (const day of (await this.#guarded(() => listFolder(done))).reverse()) {
      const folder = path.join(done, day);
      for (const name of (await this.#guarded(() => listFolder(folder))).reverse()) {
        const entry = await readEntry(folder, name);
        if (entry) yield entry;
      }
    }
  }

  /** The newest task with this id, the service's or the ledger's own. */
  async find(id: string): Promise<TaskRecord | null> {
    for await (const entry of this.newestFirst()) {
      if (entry.kind !== "task") continue;
      const { record } = entry;
      if (record.id === id || ("taskId" in record.progress && record.progress.taskId === id)) return record;
    }
    return null;
  }

  #fileOf(id: string): string {
    return path.join(this.#open, `${id}.jsonl`);
  }

  readonly #makeRoom = () => dropBallast(this.folder);
}
