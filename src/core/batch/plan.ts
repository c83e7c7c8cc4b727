import { mapConcurrent } from "../../lib/concurrency.ts";
import type { BatchClaims } from "../../store/batch-claims.ts";
import type { Ledger } from "../../store/ledger.ts";
import { mayBeCharged } from "../../task/record.ts";
import { type Attempt, type Attempted, readAttempt, readReplacement } from "./attempts.ts";
import type { BatchRow } from "./batch-row.ts";
import { type RowState, rowStateOf } from "./row-state.ts";

/** A row, and what earlier runs have made of it. */
export interface PlannedRow extends BatchRow, Attempted {
  state: RowState;
  /**
   * The attempt that the user wants submitted again: it was of unknown outcome when this run was planned. null for
   * none. What becomes unknown later is not submitted again by this run.
   */
  resubmit: string | null;
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
  /** What is charged and unfinished comes first. */
  rows: PlannedRow[];
  toSubmit: Cost;
  /** What may have been charged for these rows in earlier runs. */
  charged: Cost;
  /** What may have been charged for rows of the batch that are not among these any more. */
  chargedForOthers: Cost;
}

const ROWS_AT_ONCE = 16;

/** Where a batch's earlier runs are looked up. */
export interface PlanDeps {
  claims: Pick<BatchClaims, "load" | "attempt" | "read">;
  ledger: Pick<Ledger, "read" | "isUnderWay">;
  /** Whether rows of unknown outcome are bought again. */
  resubmitUnknown: boolean;
  /** Says of the keys of rows that are not in the plan whether what they have cost counts; null where none does. */
  countsKey: ((key: string) => boolean) | null;
}

/** Looks every row up in the ledger. */
export async function planBatch(rows: readonly BatchRow[], deps: PlanDeps): Promise<BatchPlan> {
  const tasks = await deps.claims.load();
  const charged = noCost();
  const toSubmit = noCost();
  const planned = await mapConcurrent(rows, ROWS_AT_ONCE, async (row): Promise<PlannedRow> => {
    const attempted = { key: row.key, attempts: tasks.get(row.key) ?? [] };
    const { id, entry } = await addCharges(attempted, row.checked.credits, charged, deps);
    const state = rowStateOf(entry);
    const isLeft = state === "unknown" && isSettled(entry, deps);
    const resubmit = deps.resubmitUnknown && isLeft ? id : null;
    if (state === "new" || resubmit !== null) add(toSubmit, row.checked.credits);
    return { ...row, ...attempted, state, resubmit };
  });
  const chargedForOthers = await chargesOfOthers(rows, tasks, deps);
  const paidFirst = (row: PlannedRow) => (row.state === "unfinished" ? 0 : 1);
  const ordered = planned.toSorted((a, b) => paidFirst(a) - paidFirst(b));
  return { rows: ordered, toSubmit, charged, chargedForOthers };
}

/** What rows that were edited out of the manifest have cost: the budget is that of the batch, not of its rows of today. */
async function chargesOfOthers(
  rows: readonly BatchRow[],
  tasks: ReadonlyMap<string, string[]>,
  deps: PlanDeps,
): Promise<Cost> {
  const charged = noCost();
  const { countsKey } = deps;
  if (countsKey === null) return charged;
  const planned = new Set(rows.map(({ key }) => key));
  const others = [...tasks].filter(([key]) => !planned.has(key) && countsKey(key));
  await mapConcurrent(others, ROWS_AT_ONCE, ([key, attempts]) =>
    addCharges({ key, attempts }, null, charged, deps),
  );
  return charged;
}

/**
 * Adds what a row's attempts may have cost.
 * @param credits what an attempt counts as of which nobody can tell what it was
 * @returns the last one
 */
async function addCharges(
  row: Attempted,
  credits: number | null,
  charged: Cost,
  deps: PlanDeps,
): Promise<NamedAttempt> {
  let last: NamedAttempt = { id: null, entry: null };
  for await (const attempt of withReplacements(row, deps)) {
    last = attempt;
    const { entry } = attempt;
    if (entry?.kind === "task" && mayBeCharged(entry.record)) add(charged, entry.record.intent.credits);
    if (entry && !isReadable(entry)) add(charged, credits);
  }
  return last;
}

/** Whether an attempt of unknown outcome will stay so: no process is at its submit, and it can be read. */
function isSettled(entry: Attempt, { ledger }: PlanDeps): boolean {
  if (entry?.kind === "lost") return entry.record === null || !ledger.isUnderWay(entry.record);
  return entry?.kind === "task" && !ledger.isUnderWay(entry.record);
}

/** An attempt, and what the claims or the user call it. */
interface NamedAttempt {
  id: string | null;
  entry: Attempt;
}

/**
 * The tasks of a row: its attempts, and what the user bought by other means in the place of the last of them, of
 * which the claims do not know yet.
 */
async function* withReplacements(row: Attempted, deps: PlanDeps): AsyncGenerator<NamedAttempt> {
  const seen = new Set(row.attempts);
  let entry: Attempt = null;
  for (const at of row.attempts.keys()) {
    entry = await readAttempt(row, at, deps);
    yield { id: row.attempts[at] ?? null, entry };
  }
  for (let id = replacementOf(entry); id !== null && !seen.has(id); id = replacementOf(entry)) {
    seen.add(id);
    entry = await readReplacement(id, deps);
    yield { id, entry };
  }
}

function replacementOf(entry: Attempt): string | null {
  if (entry?.kind !== "task" || entry.record.state.name !== "dismissed") return null;
  return entry.record.state.replacement;
}

/** Whether it can be told what became of a task. Where not, it may have been charged. */
function isReadable({ kind }: NonNullable<Attempt>): boolean {
  return kind === "task" || kind === "stub";
}

export function noCost(): Cost {
  return { rows: 0, credits: 0, undocumented: 0 };
}

/** Adds one request's cost. @param credits null where it is not documented */
export function add(cost: Cost, credits: number | null): void {
  cost.rows += 1;
  if (credits === null) cost.undocumented += 1;
  else cost.credits += credits;
}
