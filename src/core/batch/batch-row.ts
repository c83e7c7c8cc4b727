import { createHash } from "node:crypto";
import path from "node:path";
import type { Destination, SaveOptions } from "../../task/intent.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { CheckedRequest } from "../../task/request.ts";

/** One request of a batch, checked. */
export interface CheckedRow {
  /** 1 for the first. */
  row: number;
  /** Its position in the manifest. */
  line: number;
  checked: CheckedRequest;
  /** Path of its file below the output folder; null: named by the template. */
  output: string | null;
  /** The file name template with the row's own columns in it; absent: the batch's. */
  template?: string;
  /** Identifies the row by its content, not by its line; equal rows are distinguished by a count. */
  key: string;
  /**
   * The key that releases gave the row that did not cut the spaces around its prompt; absent if there are none. A row
   * that such a release submitted keeps it.
   */
  uncutKey?: string;
}

/** Numbers equal rows, so that each has a key of its own. */
export class RowKeys {
  readonly #seen = new Map<string, number>();

  /** @param digest of the row's content */
  next(digest: string): string {
    const count = (this.#seen.get(digest) ?? 0) + 1;
    this.#seen.set(digest, count);
    return `${digest}-${count}`;
  }
}

/** Rows under the keys that earlier runs submitted them with. @param isClaimed whether a key is that of a submitted row */
export function underKnownKeys(
  rows: readonly CheckedRow[],
  isClaimed: (key: string) => boolean,
): readonly CheckedRow[] {
  const isUncut = ({ uncutKey }: CheckedRow) => uncutKey !== undefined && isClaimed(uncutKey);
  if (!rows.some(isUncut)) return rows;
  // Such a row was not counted among its equals without these spaces.
  const keys = new RowKeys();
  return rows.map((row) => {
    const key = isUncut(row) ? row.uncutKey : keys.next(row.key.replace(/-\d+$/, ""));
    return key === undefined ? row : { ...row, key };
  });
}

/** Whether an earlier row has the same content. */
export function isRepeat(key: string): boolean {
  return !key.endsWith("-1");
}

/** Where a batch's images go. */
export interface OutputFolder extends SaveOptions {
  /** Absolute, links resolved. */
  folder: string;
  template: string;
}

/**
 * A batch is identified by its output folder and the service, so the same command resumes it even if the manifest was
 * renamed or its rows were reordered.
 * @param origin the path at which the ledger first saw the folder, wherever it is now
 */
export function batchId(baseUrl: string, origin: string): string {
  return createHash("sha256").update(`${baseUrl}\0${origin}`).digest("hex").slice(0, 16);
}

export function destinationOf(row: CheckedRow, { folder, template, ...how }: OutputFolder): Destination {
  const { output } = row;
  if (output === null) return { kind: "folder", folder, template: row.template ?? template, ...how };
  return { kind: "file", path: path.join(folder, output), ...how };
}

/**
 * Where a row's images go if the output folder was moved after the task was submitted: the same names, in the folder's
 * current place. null if the folder was not moved.
 */
export function movedDestination(
  row: CheckedRow,
  { intent }: Pick<TaskRecord, "intent">,
  base: OutputFolder,
): Destination | null {
  const { destination } = intent;
  const today = destinationOf(row, base);
  // A task that another command submitted in place of the row keeps its own destination.
  if (destination.kind !== today.kind || folderOf(destination) === folderOf(today)) return null;
  if (destination.kind === "file") return { ...today, overwrite: destination.overwrite };
  return { ...destination, folder: base.folder };
}

/** The folder that images go to. */
export function folderOf(destination: Destination): string {
  return destination.kind === "file" ? path.dirname(destination.path) : destination.folder;
}
