import { randomBytes } from "node:crypto";
import { readdir, readFile, rename } from "node:fs/promises";
import path from "node:path";
import { type Clock, isoTime } from "../lib/clock.ts";
import { mapConcurrent } from "../lib/concurrency.ts";
import { errorCode, makeFolder, syncFolder } from "../lib/durable.ts";
import type { Processes } from "../lib/processes.ts";
import { dropBallast, keepBallast } from "./ballast.ts";
import { type Claim, removeClaims, takeClaim } from "./claim.ts";
import { StateFolderError } from "./errors.ts";
import type { Intent, TaskEvent, TaskRecord } from "./task.ts";
import { TaskFile } from "./task-file.ts";
import { type ReadTask, readTaskLines } from "./task-lines.ts";

/** A file that the ledger's folders hold: a task, or something that needs a word to the user. */
export type LedgerEntry = { file: string } & (ReadTask | { kind: "foreign" });

/** A task that this process may write to. */
export interface OwnedTask {
  record: TaskRecord;
  file: TaskFile;
  /** Lets go of it, unfinished. */
  release(): Promise<void>;
}

const TASK_NAME = /^(\d{8}T\d{9}-[0-9a-f]{8})\.jsonl$/;
/** Well below the number of open files that systems allow a process. */
const FILES_AT_ONCE = 32;
const CLAIM_NAME = /\.claim-\d+$/;

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
    try {
      await makeFolder(this.#open, 0o700);
      await keepBallast(this.folder);
      const line: TaskEvent = { type: "intent", v: 1, at, owner, ...intent };
      const file = await TaskFile.create(this.#fileOf(id), line, this.#makeRoom);
      await syncFolder(this.#open);
      const record: TaskRecord = { id, intent, owner, submittedAt: at, progress: { status: "intended" } };
      return { record, file, release: () => file.close() };
    } catch (error) {
      throw new StateFolderError(this.folder, error);
    }
  }

  /** Takes over an unfinished task whose process is gone, or says that one is still at it, or that it is finished. */
  async claim(record: TaskRecord): Promise<OwnedTask | "held" | "finished"> {
    const result = await takeClaim(this.#open, record.id, record.owner, this.#processes);
    if (result.held) return "held";
    try {
      return await this.#reopen(record.id, result.claim);
    } catch (error) {
      await result.claim.release();
      if (errorCode(error) === "ENOENT") return "finished";
      throw error;
    }
  }

  async #reopen(id: string, claim: Claim): Promise<OwnedTask> {
    const file = await TaskFile.reopen(this.#fileOf(id), this.#makeRoom);
    const release = async () => {
      await file.close();
      await claim.release();
    };
    const read = readTaskLines(id, await readFile(file.path, "utf8"));
    if (read.kind === "task") return { record: read.record, file, release };
    await release();
    throw new Error(`${file.path} changed while it was read`);
  }

  /** Moves a finished task out of the way of the unfinished ones. */
  async finish(task: OwnedTask): Promise<void> {
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
    const names = (await listFolder(this.#open)).filter((name) => !CLAIM_NAME.test(name));
    const entries = await mapConcurrent(names, FILES_AT_ONCE, (name) => readEntry(this.#open, name));
    return entries.filter((entry) => entry !== null);
  }

  /** Every task, newest first, each read only when it is asked for. */
  async *newestFirst(): AsyncGenerator<LedgerEntry> {
    const open = (await this.unfinished()).reverse();
    for await (const entry of this.#doneNewestFirst()) {
      while (open[0] && path.basename(open[0].file) > path.basename(entry.file))
        yield open.shift() as LedgerEntry;
      yield entry;
    }
    yield* open;
  }

  async *#doneNewestFirst(): AsyncGenerator<LedgerEntry> {
    const done = path.join(this.folder, "done");
    for (const day of (await listFolder(done)).reverse()) {
      const folder = path.join(done, day);
      for (const name of (await listFolder(folder)).reverse()) {
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

/** The folder under `done/` that a task belongs in: its day, so that no folder grows without end. */
function dayOf(id: string): string {
  return `${id.slice(0, 4)}-${id.slice(4, 6)}-${id.slice(6, 8)}`;
}

/** A folder's names in order; none where the folder is missing or is no folder. */
async function listFolder(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

/** Reads one file; null where another process has just moved it away. */
async function readEntry(folder: string, name: string): Promise<LedgerEntry | null> {
  const file = path.join(folder, name);
  const id = TASK_NAME.exec(name)?.[1];
  if (id === undefined) return { file, kind: "foreign" };
  try {
    return { file, ...readTaskLines(id, await readFile(file, "utf8")) };
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    return { file, kind: "damaged", why: error instanceof Error ? error.message : String(error) };
  }
}
