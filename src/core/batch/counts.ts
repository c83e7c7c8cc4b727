import type { ImggenError } from "../../lib/errors.ts";
import type { BatchRow } from "./batch-row.ts";
import { add, type Cost, type PlannedRow } from "./plan.ts";
import type { RowResult } from "./row-result.ts";
import type { RowState } from "./row-state.ts";

/** Why rows did not end in a saved file: one entry for each thing that was said, with the rows it was said of. */
export interface ErrorGroup {
  error: ImggenError;
  /** What the rows are called, the first few. */
  names: string[];
  count: number;
}

const COUNTED_AS = {
  new: "notSent",
  waiting: "pending",
  unfinished: "pending",
  saved: "saved",
  failed: "failed",
  unknown: "unknown",
} as const satisfies Record<RowState, string>;

const MOST_NAMES = 5;
const MOST_KINDS = 50;

/** Counts a batch's rows as they end, in memory that does not grow with them. */
export class BatchCounts {
  /** Saved by this run. */
  saved = 0;
  /** Saved by an earlier one. */
  skipped = 0;
  /** Refused by the service, or bought and not finished by it. */
  failed = 0;
  /** Of the failed, those that cost nothing, so that the next run tries them again. */
  refused = 0;
  /** May or may not have been bought. */
  unknown = 0;
  /** Paid for, and still to be fetched. */
  pending = 0;
  notSent = 0;
  /** What this run has bought. */
  readonly cost: Cost = { rows: 0, credits: 0, undocumented: 0 };
  readonly #nameOf: (row: BatchRow) => string;
  readonly #troubles = new Map<string, ErrorGroup>();
  readonly #drifts = new Map<string, number>();

  /** @param nameOf what a row is called in a word to a person */
  constructor(nameOf: (row: BatchRow) => string) {
    this.#nameOf = nameOf;
  }

  /** Whether every row is saved, by whichever run. */
  get isComplete(): boolean {
    return this.failed + this.unknown + this.pending + this.notSent === 0;
  }

  add(end: RowResult): void {
    const { state, report, bought } = end;
    this[end.isSkipped ? "skipped" : COUNTED_AS[state]] += 1;
    if (state === "failed" && (report ?? end.error)?.charged === "no") this.refused += 1;
    if (bought && report && report.charged !== "no") add(this.cost, report.credits);
    if (end.error) this.#addTrouble(this.#nameOf(end.row), end.error);
    for (const drift of end.drift) this.#drifts.set(drift, (this.#drifts.get(drift) ?? 0) + 1);
  }

  /** Counts a row that this run did not come to, as it stood before. */
  leave({ state }: PlannedRow): void {
    this[state === "saved" ? "skipped" : COUNTED_AS[state]] += 1;
  }

  /** Counts a row that this run has begun and did not get to tell of: it may have been submitted, and charged. */
  abandon(row: PlannedRow): void {
    if (row.state === "new" || row.resubmit !== null) {
      this.unknown += 1;
      add(this.cost, row.checked.credits);
    } else this.leave(row);
  }

  /** What went wrong, the most frequent first. */
  get troubles(): ErrorGroup[] {
    return [...this.#troubles.values()].sort((a, b) => b.count - a.count);
  }

  /** Each way in which images differ from what was asked, with the number of rows. */
  get drifts(): [string, number][] {
    return [...this.#drifts];
  }

  #addTrouble(name: string, error: ImggenError): void {
    // Messages that name a task differ for each row; what they have in common is their kind.
    const kind = `${error.type} ${error.key ?? ""}`;
    const known = this.#troubles.get(kind);
    if (!known && this.#troubles.size >= MOST_KINDS) return;
    const trouble = known ?? { error, names: [], count: 0 };
    trouble.count += 1;
    if (trouble.names.length < MOST_NAMES) trouble.names.push(name);
    this.#troubles.set(kind, trouble);
  }
}
