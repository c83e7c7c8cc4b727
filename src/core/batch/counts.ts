import path from "node:path";
import type { ImggenError } from "../../lib/error-types.ts";
import type { TaskReport } from "../engine/report.ts";
import type { CheckedRow } from "./batch-row.ts";
import { addCost, isToSubmit, noCost, type PlannedRow, type RowState, type TotalCost } from "./plan.ts";
import type { RowResult } from "./row-result.ts";

export interface ErrorGroup {
  error: ImggenError;
  /** Names of the first rows with this error. */
  names: string[];
  count: number;
}

const COUNTERS = {
  new: "notSent",
  waiting: "pending",
  unfinished: "pending",
  saved: "saved",
  failed: "failed",
  unknown: "unknown",
} as const satisfies Record<RowState, string>;

const MAX_NAMES = 5;
const MAX_ERROR_GROUPS = 50;
const MAX_WARNINGS = 10;

/** Whether a row's task is unfinished, and nothing was charged for it so far. */
export function isUncharged({ state, report }: RowResult): boolean {
  return state === "unfinished" && report?.charged === "no";
}

/** Counts of a batch's rows, updated when a row ends. Memory use does not depend on the number of rows. */
export class BatchCounts {
  saved = 0;
  /** Rows that an earlier run saved. */
  skipped = 0;
  /** Rows that the provider refused, or that failed after acceptance. */
  failed = 0;
  /** Part of `failed`: rows that the service refused, which the next run submits again. */
  refused = 0;
  /** Part of `failed`: rows of free tasks. */
  freeFailed = 0;
  unknown = 0;
  /** Part of `unknown`: rows of free tasks. */
  freeUnknown = 0;
  /** Unfinished rows, and rows that another process is working on. */
  pending = 0;
  /** Part of `pending`: unfinished rows for which nothing was charged so far. */
  waiting = 0;
  /** Part of `waiting`: rows that a free generator is working on, or that are completed and not saved. */
  inProgress = 0;
  notSent = 0;
  /** Known and possible charges of this run. */
  readonly cost: TotalCost = noCost();
  /** Part of `cost`: charges that are not certain. */
  readonly possibleCost: TotalCost = noCost();
  readonly #nameOf: (row: CheckedRow) => string;
  readonly #errors = new Map<string, ErrorGroup>();
  readonly #mismatches = new Map<string, number>();

  constructor(nameOf: (row: CheckedRow) => string) {
    this.#nameOf = nameOf;
  }

  get isComplete(): boolean {
    return this.failed + this.unknown + this.pending + this.notSent === 0;
  }

  add(end: RowResult): void {
    const { state, report, isSkipped, isSubmitted } = end;
    this[isSkipped ? "skipped" : COUNTERS[state]] += 1;
    const isEnded = report?.state === "failed" || report?.state === "cancelled";
    const isRefused = (report ?? end.error)?.charged === "no" && !isEnded;
    if (state === "failed" && isRefused) this.refused += 1;
    if (state === "failed" && report?.free !== undefined) this.freeFailed += 1;
    if (state === "unknown" && report?.free !== undefined) this.freeUnknown += 1;
    if (isUncharged(end)) this.waiting += 1;
    if (isUncharged(end) && report?.state !== "waiting") this.inProgress += 1;
    if (isSubmitted && report) this.#addCost(report);
    if (end.error) this.#addError(this.#nameOf(end.row), end.error);
    if (!isSkipped) this.#addMismatches(end);
  }

  /** Counts a row that this run did not begin, by its state before the run. */
  addUnstarted({ state }: PlannedRow): void {
    this[state === "saved" ? "skipped" : COUNTERS[state]] += 1;
  }

  /** Counts a row that this run began and did not report. If it was to be submitted, it might have been charged. */
  addUnfinished(row: PlannedRow): void {
    if (isToSubmit(row)) {
      this.unknown += 1;
      this.#addCost({ charged: "unknown", credits: row.checked.credits });
    } else this.addUnstarted(row);
  }

  get errors(): ErrorGroup[] {
    return [...this.#errors.values()].sort((a, b) => b.count - a.count);
  }

  /** Warnings about images that differ from their requests, each with the number of its rows. */
  get mismatches(): [string, number][] {
    return [...this.#mismatches];
  }

  #addCost({ charged, credits }: Pick<TaskReport, "charged" | "credits">): void {
    if (charged !== "no") addCost(this.cost, credits);
    if (charged === "unknown") addCost(this.possibleCost, credits);
  }

  /** Counts warnings about images, except warnings that contain a file name or were reported before the batch. */
  #addMismatches({ row, report }: RowResult): void {
    const names = report?.files.flatMap(({ path: file }) => (file === null ? [] : path.basename(file))) ?? [];
    for (const warning of new Set(report?.warnings)) {
      const count = this.#mismatches.get(warning) ?? 0;
      const isExcess = count === 0 && this.#mismatches.size >= MAX_WARNINGS;
      if (isExcess || row.checked.warnings.includes(warning) || names.some((name) => warning.includes(name)))
        continue;
      this.#mismatches.set(warning, count + 1);
    }
  }

  #addError(name: string, error: ImggenError): void {
    // Errors are grouped by type and key, because a message that contains a task id is different for each row.
    const errorKey = `${error.type} ${error.key ?? ""}`;
    const existing = this.#errors.get(errorKey);
    if (!existing && this.#errors.size >= MAX_ERROR_GROUPS) return;
    const group = existing ?? { error, names: [], count: 0 };
    group.count += 1;
    if (group.names.length < MAX_NAMES) group.names.push(name);
    this.#errors.set(errorKey, group);
  }
}
