import path from "node:path";
import { mapConcurrent } from "../lib/concurrency.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { makeFolder, syncFolder } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { fieldsOf, jsonOrNull } from "../lib/json.ts";
import { readPublished } from "../lib/publish.ts";
import { readText } from "../lib/read-file.ts";
import { createWhole, removeOldTemporaryFiles, temporaryTarget } from "../lib/write-whole.ts";
import type { Intent } from "../task/intent.ts";
import type { Line } from "../task/line.ts";
import type { Task } from "../task/task.ts";
import { namesIn } from "./ledger-files.ts";
import { isId } from "./ledger-name.ts";
import { usingStateFolder } from "./store-errors.ts";
import { formatLine, LEDGER_VERSION } from "./task-file.ts";

const CLAIM = /^([0-9a-f]+-\d+)\.(\d+)$/;
const CLAIM_OF_TASK = /^[0-9a-f]+\/[0-9a-f]+-\d+\.\d+$/;
const FILES_AT_ONCE = 32;

/** Written, synced, before the first request of the claim's task is sent. No line of a task: a reader of tasks ignores it. */
const BEGUN = `${JSON.stringify({ type: "begun" })}\n`;

/** An attempt at a row whose outcome neither the ledger nor the claim knows. */
export interface LostTask {
  kind: "lost";
  /** The claim. */
  file: string;
  /** The task as it was begun; null if not even that is known. */
  task: Task | null;
}

/** An attempt at a row, by its claim. */
export interface ClaimedAttempt {
  /** The claim's own name. */
  name: string;
  row: string;
  /** 1 for the first. */
  number: number;
}

/**
 * The claims on a batch's rows: a small file for each attempt, named by the row and the attempt's number. It is created once
 * and completely, with the intent of the task that it is for, so that all processes use that task's id. Before the task's
 * first request is sent, the claim says `begun`; before the task's file is moved, how it ended. So a claim whose task is not
 * in the ledger tells what became of it: with neither line nothing was ever sent.
 */
export class RowClaims {
  readonly #batch: string;
  readonly #folder: string;
  #isMade = false;

  /** @param batchId what all processes that work on the batch agree on, in hexadecimal digits */
  constructor(ledgerFolder: string, batchId: string) {
    this.#batch = batchId;
    this.#folder = path.join(ledgerFolder, "batches", batchId);
  }

  /**
   * The tasks of every row that was ever begun, by row, first attempt first; a damaged claim is given as its path.
   * @throws StateFolderError
   */
  async load(): Promise<Map<string, string[]>> {
    return this.#guarded(async () => {
      const found = namesIn(this.#folder).sort().flatMap(claimedAttempt);
      const ids = await mapConcurrent(found, FILES_AT_ONCE, ({ name }) => this.#ownerIn(name));
      const claims = new Map<string, string[]>();
      for (const [at, { row, number }] of found.entries()) {
        const attempts = claims.get(row) ?? [];
        attempts[number - 1] = ids[at] ?? "";
        claims.set(row, attempts);
      }
      return claims;
    });
  }

  /** Every attempt that is claimed by now, in no order, without those whose names are known. @throws StateFolderError */
  async list(isKnown: (name: string) => boolean): Promise<ClaimedAttempt[]> {
    const names = await this.#guarded(async () => namesIn(this.#folder));
    return names.filter((name) => !isKnown(name)).flatMap(claimedAttempt);
  }

  /** The name by which a task names its claim. @param attempt 1 for the first */
  nameOf(row: string, attempt: number): string {
    return `${this.#batch}/${attemptName(row, attempt)}`;
  }

  /**
   * Claims an attempt at a row for a task.
   * @returns the id of the task that has it: this one, or another one that was first
   * @throws StateFolderError
   */
  async claim(
    row: string,
    attempt: number,
    { id, intent, at }: { id: string; intent: Intent | null; at: string },
  ): Promise<string> {
    const name = attemptName(row, attempt);
    const first =
      intent === null
        ? `${id}\n`
        : formatLine({ type: "intent", v: LEDGER_VERSION, id, at, holder: "", ...intent });
    return this.#guarded(async () => {
      await this.#makeFolder();
      const isMine = await createWhole(path.join(this.#folder, name), first, 0o600);
      return isMine ? id : this.#ownerIn(name);
    });
  }

  /** The id of the task that has an attempt. @throws StateFolderError */
  async owner(row: string, attempt: number): Promise<string> {
    return this.#guarded(() => this.#ownerIn(attemptName(row, attempt)));
  }

  /**
   * What a claim says of its task, for when the ledger no longer has the task's file.
   * @returns null if nothing was ever sent for it; "lost" if the claim does not record how it ended
   * @throws StateFolderError
   */
  async read(
    row: string,
    attempt: number,
  ): Promise<{ kind: "task"; task: Task; file: string } | LostTask | null> {
    const file = path.join(this.#folder, attemptName(row, attempt));
    return this.#guarded(async () => {
      const content = await readText(file);
      const id = taskOf(content.split("\n", 1)[0] ?? "");
      // One that holds an id alone is for a task that was begun by another command.
      if (id === null || !content.startsWith("{")) return { kind: "lost", file, task: null };
      const { readTaskLines } = await import("./task-lines.ts");
      const read = readTaskLines(id, [content]);
      if (read.kind !== "task") return { kind: "lost", file, task: null };
      const { task } = read;
      if (task.state !== "waiting") return { kind: "task", task, file };
      return content.includes(BEGUN) ? { kind: "lost", file, task } : null;
    });
  }

  /**
   * A claim begins with its task's intent, or holds nothing but a task's id.
   * @returns the id; for a damaged claim its own path, which no task has as its id, so that the row is not submitted again
   */
  async #ownerIn(name: string): Promise<string> {
    const file = path.join(this.#folder, name);
    const text = await readPublished(file, (read) => read.includes("\n"));
    return taskOf(text.split("\n", 1)[0] ?? "") ?? file;
  }

  async #makeFolder(): Promise<void> {
    if (this.#isMade) return;
    await makeFolder(this.#folder, 0o700);
    this.#isMade = true;
    // Only where a claim is written, never in a dry run. A draft left by a killed process does no harm.
    await removeOldTemporaryFiles(
      this.#folder,
      (name) => temporaryTarget(name) !== undefined,
      Date.now(),
    ).catch(() => {});
  }

  #guarded<Result>(action: () => Promise<Result>): Promise<Result> {
    return usingStateFolder(this.#folder, "Nothing was sent for this row.", action);
  }
}

/** The name of an attempt's claim. @param attempt 1 for the first */
export function attemptName(row: string, attempt: number): string {
  return `${row}.${attempt}`;
}

/**
 * Whether the claim of a task says that the task has ended: another process has finished it, and its file was removed since.
 * @throws the disk's error
 */
export async function isRowEnded(ledgerFolder: string, claim: string, id: string): Promise<boolean> {
  const { readTaskLines } = await import("./task-lines.ts");
  const read = readTaskLines(id, [await readText(fileOf(ledgerFolder, claim))]);
  return read.kind === "task" && read.task.state !== "waiting";
}

/** Records, synced, that the first request of a claim's task is about to be sent. @throws the disk's error */
export async function recordRowBegun(ledgerFolder: string, claim: string): Promise<void> {
  const name = fileOf(ledgerFolder, claim);
  const file = DiskFile.openToAppend(name);
  try {
    file.write(Buffer.from(BEGUN));
    await file.sync();
  } finally {
    file.close();
  }
  await syncFolder(path.dirname(name));
}

/** Records how a claim's task has ended. @throws the disk's error, unless the claim was removed */
export function recordRowEnd(ledgerFolder: string, claim: string, lines: readonly Line[]): void {
  try {
    const file = DiskFile.openToAppend(fileOf(ledgerFolder, claim));
    try {
      // A line that was cut short by a crash must not take the next one along.
      file.write(Buffer.from(`\n${lines.map(formatLine).join("")}`));
    } finally {
      file.close();
    }
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

/** @throws Error for a name that no claim has: a task's file may have been changed */
function fileOf(ledgerFolder: string, claim: string): string {
  if (!CLAIM_OF_TASK.test(claim)) throw new Error(`${claim} is no claim of a batch's row`);
  return path.join(ledgerFolder, "batches", claim);
}

/** @returns the attempt that a file in the folder claims, as a list; an empty one if it is no claim */
function claimedAttempt(name: string): ClaimedAttempt[] {
  const [, row, attempt] = CLAIM.exec(name) ?? [];
  return row === undefined ? [] : [{ name, row, number: Number(attempt) }];
}

/** The task's own id in the first line of its claim; null if there is none. */
function taskOf(line: string): string | null {
  const id = line.startsWith("{") ? fieldsOf(jsonOrNull(line)).id : line;
  return typeof id === "string" && isId(id) ? id : null;
}
