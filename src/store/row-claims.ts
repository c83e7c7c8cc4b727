import { statSync } from "node:fs";
import path from "node:path";
import { mapConcurrent } from "../lib/concurrency.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { makeFolder, syncFolder } from "../lib/durable.ts";
import { errorCode } from "../lib/error-text.ts";
import { fieldsOf, jsonOrNull } from "../lib/json.ts";
import { readPublished } from "../lib/publish.ts";
import { readText } from "../lib/read-file.ts";
import {
  createAtomically,
  removeOldTemporaryFiles,
  replaceAtomically,
  temporaryTarget,
} from "../lib/write-whole.ts";
import type { Intent } from "../task/intent.ts";
import type { Line } from "../task/line.ts";
import { summaryLines, type Task } from "../task/task.ts";
import { unsortedNames } from "./ledger-files.ts";
import { isId } from "./ledger-name.ts";
import { withStateFolderErrors } from "./store-errors.ts";
import { formatLine, LEDGER_VERSION } from "./task-file.ts";

const CLAIM_NAME = /^([0-9a-f]+-\d+)\.(\d+)$/;
const CLAIM_PATH = /^[0-9a-f]+\/[0-9a-f]+-\d+\.\d+$/;
const MAX_OPEN_FILES = 32;

/** Line that is synced to a claim before the first request of its task is sent. The task parser ignores the line. */
const BEGUN_LINE = `${JSON.stringify({ type: "begun" })}\n`;

/** An attempt at a row whose outcome is in neither the ledger nor the claim. */
export interface LostTask {
  kind: "lost";
  file: string;
  /** The task as it was before its first request; null if unknown. */
  task: Task | null;
}

export interface ClaimedAttempt {
  name: string;
  row: string;
  /** Counted from 1. */
  number: number;
}

/**
 * The claims on a batch's rows. A claim is a file for one attempt, created atomically with the intent of its task, so
 * that all processes use the same task id. `begun` is added before the first request is sent, and the outcome before
 * the task is finished, so that both are still known after the task is removed from the ledger.
 */
export class RowClaims {
  readonly #batch: string;
  readonly #folder: string;
  #hasFolder = false;

  /** @param batchId hexadecimal digits, equal in all processes of the batch */
  constructor(ledgerFolder: string, batchId: string) {
    this.#batch = batchId;
    this.#folder = path.join(ledgerFolder, "batches", batchId);
  }

  /** Reads each row's task ids in order, with the path for a damaged claim. @throws StateFolderError */
  async load(): Promise<Map<string, string[]>> {
    return this.#guarded(async () => {
      const entries = unsortedNames(this.#folder).sort().flatMap(claimedAttempt);
      const ids = await mapConcurrent(entries, MAX_OPEN_FILES, ({ name }) => this.#readTaskId(name));
      const claims = new Map<string, string[]>();
      for (const [index, { row, number }] of entries.entries()) {
        const attempts = claims.get(row) ?? [];
        attempts[number - 1] = ids[index] ?? "";
        claims.set(row, attempts);
      }
      return claims;
    });
  }

  /** Lists the claims that the caller does not know yet, unsorted. @throws StateFolderError */
  async list(isKnown: (name: string) => boolean): Promise<ClaimedAttempt[]> {
    const names = await this.#guarded(async () => unsortedNames(this.#folder));
    return names.filter((name) => !isKnown(name)).flatMap(claimedAttempt);
  }

  /** Name under which a task refers to its claim. Attempts count from 1. */
  claimName(row: string, attempt: number): string {
    return `${this.#batch}/${attemptName(row, attempt)}`;
  }

  /**
   * Claims an attempt at a row for a task.
   * @returns the id of the task that has the claim, either the given id or the id of an earlier task
   * @throws StateFolderError
   */
  async claim(
    row: string,
    attempt: number,
    { id, intent, at }: { id: string; intent: Intent | null; at: string },
  ): Promise<string> {
    const name = attemptName(row, attempt);
    const content = intent === null ? `${id}\n` : intentLine(id, intent, at);
    return this.#guarded(async () => {
      await this.#makeFolder();
      const isMine = await createAtomically(path.join(this.#folder, name), content, 0o600);
      return isMine ? id : this.#readTaskId(name);
    });
  }

  /** @throws StateFolderError */
  async findTaskId(row: string, attempt: number): Promise<string> {
    return this.#guarded(() => this.#readTaskId(attemptName(row, attempt)));
  }

  /**
   * Reads the outcome of a task from its claim, after the task was removed from the ledger.
   * @returns null if no request was sent; `lost` if the claim does not contain the outcome
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
      // A claim that contains only an id belongs to a task that another command began.
      if (id === null || !content.startsWith("{")) return { kind: "lost", file, task: null };
      const { readTaskLines } = await import("./task-lines.ts");
      const result = readTaskLines(id, [content]);
      if (result.kind !== "task") return { kind: "lost", file, task: null };
      const { task } = result;
      if (task.state !== "waiting") return { kind: "task", task, file };
      return content.includes(BEGUN_LINE) ? { kind: "lost", file, task } : null;
    });
  }

  /** Reads a claim's task id. For a damaged claim, returns the path, so that the row is not submitted again. */
  async #readTaskId(name: string): Promise<string> {
    const file = path.join(this.#folder, name);
    const text = await readPublished(file, (text) => text.includes("\n"));
    return parseTaskId(text.split("\n", 1)[0] ?? "") ?? file;
  }

  async #makeFolder(): Promise<void> {
    if (this.#hasFolder) return;
    await makeFolder(this.#folder, 0o700);
    this.#hasFolder = true;
    // Leftovers are removed only before a claim is created, because a dry run must not remove files.
    await removeOldTemporaryFiles(
      this.#folder,
      (name) => temporaryTarget(name) !== undefined,
      Date.now(),
    ).catch(() => {});
  }

  #guarded<Result>(action: () => Promise<Result>): Promise<Result> {
    return withStateFolderErrors(this.#folder, "Nothing was sent for this row.", action);
  }
}

export function attemptName(row: string, attempt: number): string {
  return `${row}.${attempt}`;
}

/** Whether a claim contains the outcome of its task. @throws the disk's error */
export async function hasRowOutcome(ledgerFolder: string, claim: string, id: string): Promise<boolean> {
  const { readTaskLines } = await import("./task-lines.ts");
  const read = readTaskLines(id, [await readText(claimFile(ledgerFolder, claim))]);
  return read.kind === "task" && read.task.state !== "waiting";
}

/** Records durably that the first request of a claim's task is about to be sent. @throws the disk's error */
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

/** Records the outcome of a claim's task. @throws the disk's error, unless the claim was removed */
export function recordRowOutcome(ledgerFolder: string, claim: string, lines: readonly Line[]): void {
  try {
    const file = DiskFile.openToAppend(claimFile(ledgerFolder, claim));
    try {
      // The text begins with a line feed, because a crash might have left the last line incomplete.
      file.write(Buffer.from(`\n${lines.map(formatLine).join("")}`));
    } finally {
      file.close();
    }
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
}

/** Maximum size of a claim that contains only a task id. */
const MAX_ID_BYTES = 64;

/** Returns the paths of the claims that contain only a task id, grouped by the id. @throws the disk's error */
export async function findAdoptedClaims(ledgerFolder: string): Promise<Map<string, string[]>> {
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

/** Replaces an id-only claim by one with the task's intent and outcome, durably. @throws the disk's error */
export async function recordAdoptedOutcome(claim: string, task: Task): Promise<void> {
  const { id, intent, submittedAt } = task;
  const end = summaryLines(task).map(formatLine).join("");
  await replaceAtomically(claim, intentLine(id, intent, submittedAt) + end, 0o600);
}

function intentLine(id: string, intent: Intent, at: string): string {
  return formatLine({ type: "intent", v: LEDGER_VERSION, id, at, holder: "", ...intent });
}

/** @throws Error for an invalid claim name, because the user might have edited the task's file */
function claimFile(ledgerFolder: string, claim: string): string {
  if (!CLAIM_PATH.test(claim)) throw new Error(`${claim} is not a claim on a batch's row`);
  return path.join(ledgerFolder, "batches", claim);
}

function claimedAttempt(name: string): ClaimedAttempt[] {
  const [, row, attempt] = CLAIM_NAME.exec(name) ?? [];
  return row === undefined ? [] : [{ name, row, number: Number(attempt) }];
}

function parseTaskId(line: string): string | null {
  const id = line.startsWith("{") ? fieldsOf(jsonOrNull(line)).id : line;
  return typeof id === "string" && isId(id) ? id : null;
}
