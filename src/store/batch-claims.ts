import path from "node:path";
import type { Clock } from "../lib/clock.ts";
import { mapConcurrent } from "../lib/concurrency.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { isPresent, makeFolder, syncFolder } from "../lib/durable.ts";
import { errorCode } from "../lib/error-code.ts";
import { fieldsOf, jsonOrNull } from "../lib/json.ts";
import { publishOnce, readPublished } from "../lib/publish.ts";
import { readText } from "../lib/read-file.ts";
import { createWhole, removeOld } from "../lib/write-whole.ts";
import type { TaskRecord } from "../task/record.ts";
import { usingStateFolder } from "./errors.ts";
import { type LedgerEntry, listFolder, namesIn } from "./ledger-entry.ts";
import { isId } from "./ledger-name.ts";
import type { TaskClaim } from "./owners.ts";

const DRAFT = /^\..+\.[0-9a-f]{8}$/;
const CLAIM = /^([0-9a-f]+-\d+)\.(\d+)$/;
const FILES_AT_ONCE = 32;

/** Not an event: a reader of the claim as a task file ignores it. */
const COPY_LINE = `${JSON.stringify({ type: "copy" })}\n`;

/** An attempt whose outcome neither the ledger nor the claim knows. */
export interface LostTask {
  kind: "lost";
  /** The claim. */
  file: string;
  /** The task as it was begun, if the claim is a copy of its file; null if not even that is known. */
  record: TaskRecord | null;
}

/** An attempt of which there is a claim. */
export interface ClaimedAttempt {
  /** The claim's own name. */
  name: string;
  row: string;
  /** 1 for the first. */
  number: number;
}

/** An attempt at a row. The first process that claims it begins its task. */
export interface RowAttempt extends TaskClaim {
  /** The id of the task that has it. @throws StateFolderError */
  owner(): Promise<string>;
}

/**
 * The tasks of each row of a batch: a small file for each attempt, named by the row and the attempt's number, that
 * begins with the task's ledger id. Each is created once and completely, so that all processes use the id that the first
 * one wrote.
 */
export class BatchClaims {
  readonly #folder: string;
  readonly #clock: Pick<Clock, "now">;
  #made = false;
  /** As last listed. */
  #drafts: string[] = [];

  /** @param batchId what all processes that work on the batch agree on, in hexadecimal digits */
  constructor(ledgerFolder: string, batchId: string, clock: Pick<Clock, "now">) {
    this.#folder = path.join(ledgerFolder, "batches", batchId);
    this.#clock = clock;
  }

  /**
   * The tasks of every row that was ever begun, by row, first attempt first; a damaged claim is given
   * as its path. @throws StateFolderError
   */
  async load(): Promise<Map<string, string[]>> {
    return this.#guarded(async () => {
      const all = listFolder(this.#folder);
      this.#drafts = all.filter((name) => DRAFT.test(name));
      const found = all.flatMap(claimedAttempt);
      const ids = await mapConcurrent(found, FILES_AT_ONCE, ({ name }) => this.#read(name));
      const claims = new Map<string, string[]>();
      for (const [at, { row, number }] of found.entries()) {
        const attempts = claims.get(row) ?? [];
        attempts[number - 1] = ids[at] ?? "";
        claims.set(row, attempts);
      }
      return claims;
    });
  }

  /**
   * Every attempt that is claimed by now, in no order, without those whose names are known. None is read.
   * @throws StateFolderError
   */
  async list(isKnown: (name: string) => boolean): Promise<ClaimedAttempt[]> {
    const names = await this.#guarded(async () => namesIn(this.#folder));
    return names.filter((name) => !isKnown(name)).flatMap(claimedAttempt);
  }

  /**
   * An attempt at a row, for a task that is begun with it: the claim is the task's own file under a second name.
   * @param attempt 1 for the first
   */
  attempt(row: string, attempt: number): RowAttempt {
    const name = attemptName(row, attempt);
    return {
      take: (draft) => this.#guarded(() => this.#give(name, draft)),
      isShared: () => isPresent(this.#sharedMark(name)),
      owner: () => this.#guarded(() => this.#read(name)),
    };
  }

  /**
   * An attempt's task as its claim records it, for when the ledger no longer has the task's file. The claim is that file
   * under a second name, so it has every record of the task.
   * @returns null if the task was never begun; "lost" if the claim does not record its outcome
   * @throws StateFolderError
   */
  async read(row: string, attempt: number): Promise<LedgerEntry | LostTask | null> {
    const file = this.fileOf(row, attempt);
    return this.#guarded(async () => {
      const content = await readText(file);
      const id = taskOf(content.split("\n", 1)[0] ?? "");
      if (id === null || !content.startsWith("{")) return { kind: "lost", file, record: null };
      const { readTaskLines } = await import("./task-lines.ts");
      const read = readTaskLines(id, content);
      if (read.kind !== "task" || read.record.state.name !== "intent") return { file, ...read };
      if (content.includes(COPY_LINE)) return { kind: "lost", file, record: read.record };
      // With more than its intent it was begun: it was submitted again after a 429.
      return content.indexOf("\n") < content.length - 1 ? { file, ...read } : null;
    });
  }

  /**
   * Takes an attempt at a row for a task that is there already.
   * @returns the id of the task that has it: this one, or another one that was first
   * @throws StateFolderError
   */
  async claim(row: string, attempt: number, id: string): Promise<string> {
    const name = attemptName(row, attempt);
    return this.#guarded(async () => ((await this.#create(name, id)) ? id : this.#read(name)));
  }

  /**
   * Marks that another process than the one that claimed an attempt is about to begin its task, because the first one
   * seems to have been killed. Written before anything is begun, so that the first one sees it if it is still alive.
   * @throws StateFolderError
   */
  async share(row: string, attempt: number): Promise<void> {
    await this.#guarded(async () => {
      try {
        DiskFile.createExclusive(this.#sharedMark(attemptName(row, attempt)), 0o600).close();
      } catch (error) {
        if (errorCode(error) !== "EEXIST") throw error;
      }
      // The killed process may not have synced it, and the claim must survive a power cut.
      await syncFolder(this.#folder);
    });
  }

  /** The file of a claim. */
  fileOf(row: string, attempt: number): string {
    return path.join(this.#folder, attemptName(row, attempt));
  }

  #sharedMark(name: string): string {
    return path.join(this.#folder, `${name}.shared`);
  }

  async #create(name: string, id: string): Promise<boolean> {
    await this.#makeFolder();
    return createWhole(path.join(this.#folder, name), `${id}\n`, 0o600);
  }

  /** It must survive a power cut: without it the row would count as never submitted. */
  async #give(name: string, draft: string): Promise<boolean> {
    await this.#makeFolder();
    const file = path.join(this.#folder, name);
    const result = await publishOnce(draft, file);
    if (result === "copied") await markAsCopy(file);
    if (result === "exists") return false;
    await syncFolder(this.#folder);
    return true;
  }

  async #makeFolder(): Promise<void> {
    if (this.#made) return;
    await makeFolder(this.#folder, 0o700);
    this.#made = true;
    // Only where a claim is written, never in a dry run. A draft left by a killed process does no harm.
    await removeOld(this.#folder, this.#drafts, this.#clock.now()).catch(() => {});
  }

  /**
   * A claim is a task's file, or holds nothing but a task's id.
   * @returns the id; for a damaged claim its own path, which no task has as its id, so that the row is not submitted again
   */
  async #read(name: string): Promise<string> {
    const file = path.join(this.#folder, name);
    const text = await readPublished(file, (read) => read.includes("\n"));
    return taskOf(text.split("\n", 1)[0] ?? "") ?? file;
  }

  #guarded<Result>(action: () => Promise<Result>): Promise<Result> {
    return usingStateFolder(this.#folder, "Nothing was sent for this row.", action);
  }
}

/** The name of an attempt's claim. @param attempt 1 for the first */
export function attemptName(row: string, attempt: number): string {
  return `${row}.${attempt}`;
}

/** @returns the attempt that a file in the folder claims, as a list; an empty one where it is no claim */
function claimedAttempt(name: string): ClaimedAttempt[] {
  const [, row, attempt] = CLAIM.exec(name) ?? [];
  return row === undefined ? [] : [{ name, row, number: Number(attempt) }];
}

/**
 * Marks a claim as a copy of its task's file, on a file system without hard links: later records of the task are not
 * added to it. Written before anything is sent.
 */
async function markAsCopy(file: string): Promise<void> {
  const claim = DiskFile.openToAppend(file);
  try {
    claim.write(Buffer.from(COPY_LINE));
    await claim.sync();
  } finally {
    claim.close();
  }
}

/** The task's own id in the first line of its file; null if there is none. */
function taskOf(line: string): string | null {
  const id = line.startsWith("{") ? fieldsOf(jsonOrNull(line)).id : line;
  return typeof id === "string" && isId(id) ? id : null;
}
