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
    for (const id of attempts) {
      last = await ledger.read(id);
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
