import { mapConcurrent } from "../../lib/concurrency.ts";
import type { BatchClaims } from "../../store/batch-claims.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { LedgerEntry } from "../../store/ledger-entry.ts";
import { mayBePaid } from "../../store/task.ts";
import type { BatchRow } from "./rows.ts";
import { type Standing, standingOf } from "./standing.ts";

/** A row, and what earlier runs have made of it. */
export interface PlannedRow extends BatchRow {
  /** The ledger's names of the tasks it became, first attempt first. */
  attempts: string[];
  standing: Standing;
}

/** A sum of documented costs, and how many costs are missing in it. */
export interface Cost {
  rows: number;
  credits: number;
  /** Rows whose cost the service's document does not give. */
  undocumented: number;
}

/** What is to be done, before anything is. */
export interface BatchPlan {
  /** What is paid for and unfinished comes first. */
  rows: PlannedRow[];
  toBuy: Cost;
  /** What may have been charged for these rows in earlier runs. */
  charged: Cost;
}

const ROWS_AT_ONCE = 16;

/** Where a batch's earlier runs are looked up. */
export interface PlanDeps {
  claims: Pick<BatchClaims, "load">;
  ledger: Ledger;
  /** Whether rows of unknown outcome are bought again. */
  resubmitUnknown: boolean;
}

/** Looks every row up in the ledger. */
export async function planBatch(
  rows: readonly BatchRow[],
  { claims, ledger, resubmitUnknown }: PlanDeps,
): Promise<BatchPlan> {
  const tasks = await claims.load();
  const charged: Cost = { rows: 0, credits: 0, undocumented: 0 };
  const toBuy: Cost = { rows: 0, credits: 0, undocumented: 0 };
  const planned = await mapConcurrent(rows, ROWS_AT_ONCE, async (row): Promise<PlannedRow> => {
    const attempts = tasks.get(row.key) ?? [];
    let last: LedgerEntry | null = null;
    for await (const entry of withReplacements(attempts, ledger)) {
      last = entry;
      if (last?.kind === "task" && mayBePaid(last.record)) add(charged, last.record.intent.credits);
      if (last && !isReadable(last)) add(charged, row.checked.credits);
    }
    const standing = standingOf(last);
    const again = standing === "unknown" && resubmitUnknown && last?.kind === "task";
    if (standing === "new" || again) add(toBuy, row.checked.credits);
    return { ...row, attempts, standing };
  });
  const paidFirst = (row: PlannedRow) => (row.standing === "unfinished" ? 0 : 1);
  return { rows: planned.toSorted((a, b) => paidFirst(a) - paidFirst(b)), toBuy, charged };
}

/**
 * The tasks of a row: its attempts, and what the user bought by other means in the place of the last of them, of
 * which the claims do not know yet.
 */
async function* withReplacements(
  attempts: readonly string[],
  ledger: Ledger,
): AsyncGenerator<LedgerEntry | null> {
  const seen = new Set(attempts);
  for (const id of attempts.slice(0, -1)) yield ledger.read(id);
  for (let id = attempts.at(-1) ?? null; id !== null; ) {
    const entry: LedgerEntry | null = await ledger.read(id);
    yield entry;
    id = replacementOf(entry);
    if (id === null || seen.has(id)) return;
    seen.add(id);
  }
}

function replacementOf(entry: LedgerEntry | null): string | null {
  if (entry?.kind !== "task" || entry.record.progress.status !== "dismissed") return null;
  return entry.record.progress.replacement;
}

/** Whether it can be told what became of a task. Where not, it may have been charged. */
function isReadable({ kind }: LedgerEntry): boolean {
  return kind === "task" || kind === "stub";
}

/** Adds one request's cost. @param credits null where it is not documented */
export function add(cost: Cost, credits: number | null): void {
  cost.rows += 1;
  if (credits === null) cost.undocumented += 1;
  else cost.credits += credits;
}
