import path from "node:path";
import { mapConcurrent } from "../lib/concurrency.ts";
import { fieldsOf, jsonOrNull } from "../lib/json.ts";
import { readPublished } from "../lib/publish.ts";
import { readText } from "../lib/read-file.ts";
import type { TaskRecord } from "../task/record.ts";
import { type LedgerEntry, listFolder, namesIn } from "./ledger-entry.ts";
import { isId } from "./ledger-name.ts";
import { usingStateFolder } from "./store-errors.ts";

const CLAIM = /^([0-9a-f]+-\d+)\.(\d+)$/;
const FILES_AT_ONCE = 32;

/** Not an event: a reader of the claim as a task file ignores it. */
export const COPY_LINE = `${JSON.stringify({ type: "copy" })}\n`;

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

/** The claims on a batch's rows as other processes have left them: a small file for each attempt. */
export class ClaimReader {
  protected readonly folder: string;

  /** @param batchId what all processes that work on the batch agree on, in hexadecimal digits */
  constructor(ledgerFolder: string, batchId: string) {
    this.folder = path.join(ledgerFolder, "batches", batchId);
  }

  /**
   * The tasks of every row that was ever begun, by row, first attempt first; a damaged claim is given
   * as its path. @throws StateFolderError
   */
  async load(): Promise<Map<string, string[]>> {
    return this.guarded(async () => {
      const found = listFolder(this.folder).flatMap(claimedAttempt);
      const ids = await mapConcurrent(found, FILES_AT_ONCE, ({ name }) => this.ownerIn(name));
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
    const names = await this.guarded(async () => namesIn(this.folder));
    return names.filter((name) => !isKnown(name)).flatMap(claimedAttempt);
  }

  /**
   * An attempt's task as its claim records it, for when the ledger no longer has the task's file. The claim is that file
   * under a second name, so it has every record of the task.
   * @returns null if the task was never begun; "lost" if the claim does not record its outcome
   * @throws StateFolderError
   */
  async read(row: string, attempt: number): Promise<LedgerEntry | LostTask | null> {
    const file = this.fileOf(row, attempt);
    return this.guarded(async () => {
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

  /** The id of the task that has an attempt. @throws StateFolderError */
  async owner(row: string, attempt: number): Promise<string> {
    return this.guarded(() => this.ownerIn(attemptName(row, attempt)));
  }

  /** The file of a claim. */
  fileOf(row: string, attempt: number): string {
    return path.join(this.folder, attemptName(row, attempt));
  }

  /**
   * A claim is a task's file, or holds nothing but a task's id.
   * @returns the id; for a damaged claim its own path, which no task has as its id, so that the row is not submitted again
   */
  protected async ownerIn(name: string): Promise<string> {
    const file = path.join(this.folder, name);
    const text = await readPublished(file, (read) => read.includes("\n"));
    return taskOf(text.split("\n", 1)[0] ?? "") ?? file;
  }

  protected guarded<Result>(action: () => Promise<Result>): Promise<Result> {
    return usingStateFolder(this.folder, "Nothing was sent for this row.", action);
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

/** The task's own id in the first line of its file; null if there is none. */
function taskOf(line: string): string | null {
  const id = line.startsWith("{") ? fieldsOf(jsonOrNull(line)).id : line;
  return typeof id === "string" && isId(id) ? id : null;
}
