import { mapConcurrent } from "../../lib/concurrency.ts";
import { attemptName, type ClaimReader } from "../../store/claim-reader.ts";
import type { Ledger } from "../../store/ledger.ts";
import { mayBeCharged, spentCredits } from "../../task/task.ts";
import { inPlaceOfPaid } from "../../task/request.ts";
import {
  type Attempt,
  type Attempted,
  type RowState,
  readAttempt,
  readReplacement,
  rowStateOf,
} from "./attempts.ts";
import { type CheckedRow, underKnownKeys } from "./batch-row.ts";

/** A row with its state after earlier runs. */
export interface PlannedRow extends CheckedRow, Attempted {
  state: RowState;
  /**
   * Id of the attempt to submit again because it had failed, or its outcome was unknown, when this run was planned;
   * null for none. A row that fails later, or whose outcome becomes unknown, is not submitted again by this run.
   */
  resubmit: string | null;
}

/** Whether this run is to submit a row. */
export function isToSubmit({ state, resubmit }: Pick<PlannedRow, "state" | "resubmit">): boolean {
  return state === "new" || resubmit !== null;
}

/** A sum of documented costs, and the number of costs that are not documented. */
export interface TotalCost {
  rows: number;
  credits: number;
  /** Rows whose cost the service's document does not give. */
  undocumented: number;
  /** How many requests these rows take beyond one each, every one at that cost; absent for none. */
  extraRequests?: number;
}

/** What a run is going to do. */
export interface BatchPlan {
  /** Charged and unfinished rows first. */
  rows: PlannedRow[];
  toSubmit: TotalCost;
  /** What may have been charged for these rows in earlier runs. */
  charged: TotalCost;
  /** What may have been charged for rows since removed from the manifest. */
  chargedForOthers: TotalCost;
  /**
   * The names of the claims that these costs are of. A claim whose task was not charged is not among them: another
   * process may be about to submit it.
   */
  claimed: ReadonlySet<string>;
}

const ROWS_AT_ONCE = 16;

/** Where the results of earlier runs are read from. */
export interface PlanDeps {
  claims: Pick<ClaimReader, "load" | "list" | "owner" | "read">;
  ledger: Pick<Ledger, "read" | "isUnderWay">;
  /** Whether rows of unknown outcome are submitted again. */
  resubmitUnknown: boolean;
  /** Whether failed rows are. */
  retryFailed: boolean;
  /** Whether the cost of a row that is not in the plan counts, by its key; null: no such cost counts. */
  countsKey: ((key: string) => boolean) | null;
}

/** Plans a run: reads every row's state from the ledger. */
export async function planBatch(checked: readonly CheckedRow[], deps: PlanDeps): Promise<BatchPlan> {
  const tasks = await deps.claims.load();
  const rows = underKnownKeys(checked, (key) => tasks.has(key));
  const claimed = new Set<string>();
  const charged = noCost();
  const toSubmit = noCost();
  const planned = await mapConcurrent(rows, ROWS_AT_ONCE, async (row): Promise<PlannedRow> => {
    const attempted = { key: row.key, attempts: tasks.get(row.key) ?? [] };
    const { id, entry } = await addCharges(attempted, row.checked.credits, { charged, claimed }, deps);
    const state = rowStateOf(entry);
    const isLeft = deps.resubmitUnknown && state === "unknown" && isSettled(entry, deps);
    const resubmit = isLeft || (deps.retryFailed && state === "failed") ? id : null;
    const checked = wasPaid(entry) ? inPlaceOfPaid(row.checked) : row.checked;
    if (isToSubmit({ state, resubmit })) add(toSubmit, checked.credits, checked.requests);
    return { ...row, ...attempted, checked, state, resubmit };
  });
  const chargedForOthers = await chargesOfOthers(rows, tasks, claimed, deps);
  const rank = (row: PlannedRow) => (row.state === "unfinished" ? 0 : 1);
  const ordered = planned.toSorted((a, b) => rank(a) - rank(b));
  return { rows: ordered, toSubmit, charged, chargedForOthers, claimed };
}

/** The cost of rows since removed from the manifest: the budget covers the whole batch, not only its current rows. */
async function chargesOfOthers(
  rows: readonly CheckedRow[],
  tasks: ReadonlyMap<string, string[]>,
  claimed: Set<string>,
  deps: PlanDeps,
): Promise<TotalCost> {
  const charged = noCost();
  const { countsKey } = deps;
  if (countsKey === null) return charged;
  const planned = new Set(rows.map(({ key }) => key));
  const others = [...tasks].filter(([key]) => !planned.has(key) && countsKey(key));
  await mapConcurrent(others, ROWS_AT_ONCE, ([key, attempts]) =>
    addCharges({ key, attempts }, null, { charged, claimed }, deps),
  );
  return charged;
}

/**
 * Adds what a row's attempts may have cost.
 * @param credits the cost of an attempt whose own record cannot be read
 * @returns the last attempt
 */
async function addCharges(
  row: Attempted,
  credits: number | null,
  { charged, claimed }: { charged: TotalCost; claimed: Set<string> },
  deps: PlanDeps,
): Promise<NamedAttempt> {
  let last: NamedAttempt = { id: null, entry: null, claim: null };
  for await (const attempt of withReplacements(row, deps)) {
    last = attempt;
    const { entry, claim } = attempt;
    const isTask = entry?.kind === "task" && mayBeCharged(entry.record);
    if (!isTask && (entry === null || isReadable(entry))) continue;
    add(charged, isTask ? spentCredits(entry.record) : credits);
    if (claim !== null) claimed.add(claim);
  }
  return last;
}

/** Whether an attempt's unknown outcome is final: its record can be read, and no process is submitting it. */
function isSettled(entry: Attempt, { ledger }: PlanDeps): boolean {
  if (entry?.kind === "lost") return entry.record === null || !ledger.isUnderWay(entry.record);
  return entry?.kind === "task" && !ledger.isUnderWay(entry.record);
}

/** Whether an attempt is known to be a paid one, at the user's own generator. */
function wasPaid(entry: Attempt): boolean {
  const record = entry !== null && "record" in entry ? entry.record : null;
  return record?.intent.work?.isPaid === true;
}

/** An attempt with its id. */
interface NamedAttempt {
  id: string | null;
  entry: Attempt;
  /** The name of its claim; null for a replacement, which has none. */
  claim: string | null;
}

/**
 * The tasks of a row: its attempts, then the tasks that the user submitted in place of the last attempt with another
 * command (`rerun`), which the claims do not name yet.
 */
async function* withReplacements(row: Attempted, deps: PlanDeps): AsyncGenerator<NamedAttempt> {
  const seen = new Set(row.attempts);
  let entry: Attempt = null;
  for (const at of row.attempts.keys()) {
    entry = await readAttempt(row, at, deps);
    yield { id: row.attempts[at] ?? null, entry, claim: attemptName(row.key, at + 1) };
  }
  for (let id = replacementOf(entry); id !== null && !seen.has(id); id = replacementOf(entry)) {
    seen.add(id);
    entry = await readReplacement(id, deps);
    yield { id, entry, claim: null };
  }
}

function replacementOf(entry: Attempt): string | null {
  if (entry?.kind !== "task" || entry.record.state.name !== "dismissed") return null;
  return entry.record.state.replacement;
}

/** Whether a task's record can be read. If not, the task may have been charged. */
function isReadable({ kind }: NonNullable<Attempt>): boolean {
  return kind === "task" || kind === "stub";
}

/** null if a part of the sum is not documented. */
export function documentedTotal({ credits, undocumented }: TotalCost): number | null {
  return undocumented > 0 ? null : credits;
}

export function noCost(): TotalCost {
  return { rows: 0, credits: 0, undocumented: 0 };
}

/**
 * Adds one row's cost.
 * @param credits of all its requests; null if that is not documented
 */
export function add(cost: TotalCost, credits: number | null, requests = 1): void {
  cost.rows += 1;
  if (credits !== null) cost.credits += credits;
  else {
    cost.undocumented += 1;
    if (requests > 1) cost.extraRequests = (cost.extraRequests ?? 0) + requests - 1;
  }
}
