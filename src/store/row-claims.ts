import { statSync } from "node:fs";
import path from "node:path";
import { mapConcurrent } from "../lib/concurrency.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { makeFolder, syncFolder } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { fieldsOf, jsonOrNull } from "../lib/json.ts";
import { readPublished } from "../lib/publish.ts";
import { readText } from "../lib/read-file.ts";
import { createWhole, removeOldTemporaryFiles, replaceWhole, temporaryTarget } from "../lib/write-whole.ts";
import type { Intent } from "../task/intent.ts";
import type { Line } from "../task/line.ts";
import { summaryLines, type Task } from "../task/task.ts";
import { unsortedNames } from "./ledger-files.ts";
import { isId } from "./ledger-name.ts";
import { usingStateFolder } from "./store-errors.ts";
import { formatLine, LEDGER_VERSION } from "./task-file.ts";

const CLAIM_NAME = /^([0-9a-f]+-\d+)\.(\d+)$/;
const CLAIM_PATH = /^[0-9a-f]+\/[0-9a-f]+-\d+\.\d+$/;
const FILES_AT_ONCE = 32;

/**
 * Written and synced before the first request of the claim's task is sent. Not a line of a task: the task parser
 * ignores it.
 */
const BEGUN_LINE = `${JSON.stringify({ type: "begun" })}\n`;

/** An attempt at a row with an outcome unknown to both the ledger and the claim. */
export interface LostTask {
  kind: "lost";
  file: string;
  /** The initial task; null if even that is unknown. */
  task: Task | null;
}

/** An attempt at a row, by its claim. */
export interface ClaimedAttempt {
  name: string;
  row: string;
  /** 1 for the first. */
  number: number;
}

/**
 * The claims on a batch's rows: a small file for each attempt, named by row and attempt number. It is created
 * atomically with the intent of its task, so that all processes use that task's id. Before the task's first request
 * is sent, the claim gets the line `begun`; before the task's file is moved, the lines of its outcome. So a claim
 * tells the outcome of a task that the ledger lacks: without either, no request was ever sent.
 */
export class RowClaims {
  readonly #batch: string;
  readonly #folder: string;
  #hasFolder = false;

  /** @param batchId shared by all processes of the batch, in hexadecimal digits */
  constructor(ledgerFolder: string, batchId: string) {
    this.#batch = batchId;
    this.#folder = path.join(ledgerFolder, "batches", batchId);
  }

  /**
   * The task ids of each row, first attempt first; the path of the claim in place of an id if it is damaged.
   * @throws StateFolderError
   */
  async load(): Promise<Map<string, string[]>> {
    return this.#guarded(async () => {
      const entries = unsortedNames(this.#folder).sort().flatMap(claimedAttempt);
      const ids = await mapConcurrent(entries, FILES_AT_ONCE, ({ name }) => this.#readOwner(name));
      const claims = new Map<string, string[]>();
      for (const [at, { row, number }] of entries.entries()) {
        const attempts = claims.get(row) ?? [];
        attempts[number - 1] = ids[at] ?? "";
        claims.set(row, attempts);
      }
      return claims;
    });
  }

  /**
   * All present claims, unsorted, except known ones.
   * @throws StateFolderError
   */
  async list(isKnown: (name: string) => boolean): Promise<ClaimedAttempt[]> {
    const names = await this.#guarded(async () => unsortedNames(this.#folder));
    return names.filter((name) => !isKnown(name)).flatMap(claimedAttempt);
  }

  /**
   * The reference to a claim in its task.
   * @param attempt 1 for the first
   */
  claimName(row: string, attempt: number): string {
    return `${this.#batch}/${attemptName(row, attempt)}`;
  }

  /**
   * Claims an attempt at a row for a task.
   * @returns the id of the task that has it: this one, or an earlier one
   * @throws StateFolderError
   */
  async claim(
    row: string,
    attempt: number,
    { id, intent, at }: { id: string; intent: Intent | null; at: string },
  ): Promise<string> {
    const name = attemptName(row, attempt);
    const first = intent === null ? `${id}\n` : intentLine(id, intent, at);
    return this.#guarded(async () => {
      await this.#makeFolder();
      const isMine = await createWhole(path.join(this.#folder, name), first, 0o600);
      return isMine ? id : this.#readOwner(name);
    });
  }

  /**
   * @returns the id of the attempt's task
   * @throws StateFolderError
   */
  async owner(row: string, attempt: number): Promise<string> {
    return this.#guarded(() => this.#readOwner(attemptName(row, attempt)));
  }

  /**
   * The outcome of a task that the ledger no longer has, from its claim.
   * @returns null if no request was ever sent; "lost" if the claim has no outcome
   * @throws StateFolderError
   */
  async read(
    row: string,
    attempt: number,
  ): Promise<{ kind: "task"; task: Task; file: string } | LostTask | null> {
    const file = path.join(this.#folder, attemptName(row, attempt));
    return this.#guarded(async () => {
      const content = await readText(file);
      const id = parseTaskId(content.split("\n", 1)[0] ?? "");
      // A bare id belongs to a task that another command began.
      if (id === null || !content.startsWith("{")) return { kind: "lost", file, task: null };
      const { readTaskLines } = await import("./task-lines.ts");
      const result = readTaskLines(id, [content]);
      if (result.kind !== "task") return { kind: "lost", file, task: null };
      const { task } = result;
      if (task.state !== "waiting") return { kind: "task", task, file };
      return content.includes(BEGUN_LINE) ? { kind: "lost", file, task } : null;
    });
  }

  /**
   * Reads the task id of a claim, which begins with the task's intent or is a bare id.
   * @returns the id; for a damaged claim its path, which is no task's id, so that the row is not submitted again
   */
  async #readOwner(name: string): Promise<string> {
    const file = path.join(this.#folder, name);
    const text = await readPublished(file, (text) => text.includes("\n"));
    return parseTaskId(text.split("\n", 1)[0] ?? "") ?? file;
  }

  async #makeFolder(): Promise<void> {
    if (this.#hasFolder) return;
    await makeFolder(this.#folder, 0o700);
    this.#hasFolder = true;
    // Only before a claim is written, never in a dry run. Leftovers do no harm.
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

/** @param attempt 1 for the first */
export function attemptName(row: string, attempt: number): string {
  return `${row}.${attempt}`;
}

/**
 * Whether a claim records the end of its task: another process has finished it, and its file was removed since.
 * @throws the disk's error
 */
export async function isRowEnded(ledgerFolder: string, claim: string, id: string): Promise<boolean> {
  const { readTaskLines } = await import("./task-lines.ts");
  const read = readTaskLines(id, [await readText(claimFile(ledgerFolder, claim))]);
  return read.kind === "task" && read.task.state !== "waiting";
}

/**
 * Records durably that the first request of a claim's task is about to be sent.
 * @throws the disk's error
 */
export async function recordRowBegun(ledgerFolder: string, claim: string): Promise<void> {
  const name = claimFile(ledgerFolder, claim);
  const file = DiskFile.openToAppend(name);
  try {
    file.write(Buffer.from(BEGUN_LINE));
    await file.sync();
  } finally {
    file.close();
  }
  await syncFolder(path.dirname(name));
}

/**
 * Records the outcome of a claim's task.
 * @throws the disk's error, unless the claim was removed
 */
export function recordRowEnd(ledgerFolder: string, claim: string, lines: readonly Line[]): void {
  try {
    const file = DiskFile.openToAppend(claimFile(ledgerFolder, claim));
    try {
      // A line cut short by a crash must not spoil the next one.
      file.write(Buffer.from(`\n${lines.map(formatLine).join("")}`));
    } finally {
      file.close();
    }
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

/** A claim that holds an id alone is no longer. */
const MAX_ID_BYTES = 64;

/** The claims that hold nothing but a task's id, by that id. @throws the disk's error */
export async function adoptedClaims(ledgerFolder: string): Promise<Map<string, string[]>> {
  const claims = new Map<string, string[]>();
  const batches = path.join(ledgerFolder, "batches");
  for (const batch of unsortedNames(batches))
    for (const { name } of unsortedNames(path.join(batches, batch)).flatMap(claimedAttempt)) {
      const file = path.join(batches, batch, name);
      if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_ID_BYTES) continue;
      const id = (await readText(file)).trim();
      if (isId(id)) claims.set(id, [...(claims.get(id) ?? []), file]);
    }
  return claims;
}

/** Has a claim that holds an id alone say what the task was and how it ended, synced. @throws the disk's error */
export async function recordAdoptedEnd(claim: string, task: Task): Promise<void> {
  const { id, intent, submittedAt } = task;
  const end = summaryLines(task).map(formatLine).join("");
  await replaceWhole(claim, intentLine(id, intent, submittedAt) + end, 0o600);
}

function intentLine(id: string, intent: Intent, at: string): string {
  return formatLine({ type: "intent", v: LEDGER_VERSION, id, at, holder: "", ...intent });
}

/** @throws Error for a name that no claim has: a task's file may have been edited */
function claimFile(ledgerFolder: string, claim: string): string {
  if (!CLAIM_PATH.test(claim)) throw new Error(`${claim} is no claim of a batch's row`);
  return path.join(ledgerFolder, "batches", claim);
}

/** @returns a list of one; empty if the file is not a claim */
function claimedAttempt(name: string): ClaimedAttempt[] {
  const [, row, attempt] = CLAIM_NAME.exec(name) ?? [];
  return row === undefined ? [] : [{ name, row, number: Number(attempt) }];
}

/** The task's id in the first line of its claim, or null. */
function parseTaskId(line: string): string | null {
  const id = line.startsWith("{") ? fieldsOf(jsonOrNull(line)).id : line;
  return typeof id === "string" && isId(id) ? id : null;
}
