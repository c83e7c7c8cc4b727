import { mapConcurrent } from "../../lib/concurrency.ts";
import { errorCode } from "../../lib/error-text.ts";
import type { Ledger } from "../../store/ledger.ts";
import { assertReadable, type LedgerEntry } from "../../store/ledger-files.ts";
import { isId } from "../../store/ledger-name.ts";
import { attemptName, type LostTask, type RowClaims } from "../../store/row-claims.ts";
import { asPaidReplacement } from "../../task/request.ts";
import {
  endsUnsent,
  mayBeCharged,
  STATES,
  spentCredits,
  type Task,
  type TaskState,
} from "../../task/task.ts";
import { type CheckedRow, withKnownKeys } from "./batch-row.ts";

/**
 * State of a row, derived from its latest task. `new`: nothing was charged, so the row is submitted. `waiting`:
 * another process will submit the row. `unfinished`: the task has begun, and its images are not saved. `failed`: the
 * row might have been charged, so it is submitted again only if the user requests it.
 */
export type RowState = "new" | "waiting" | "unfinished" | "saved" | "failed" | "unknown";

export interface RowAttempts {
  key: string;
  /** Ledger id of the task of each attempt. If a claim is damaged, its path replaces the id. */
  attempts: string[];
}

/** Record of an attempt; null if nothing was ever sent. */
export type Attempt = LedgerEntry | LostTask | null;

export interface AttemptDeps {
  claims: Pick<RowClaims, "findTaskId" | "read">;
  ledger: Pick<Ledger, "read" | "isOpen" | "isClaimed" | "withLostReplies">;
}

/**
 * Reads the task of an attempt, or its outcome from the claim if the task is no longer in the ledger.
 * @throws StateFolderError; UnreadableRecordError if a disk error makes the task's file unreadable
 */
export async function readAttempt(row: RowAttempts, index: number, deps: AttemptDeps): Promise<Attempt> {
  const { claims, ledger } = deps;
  let id = row.attempts[index] ?? "";
  // A claim that looked damaged might only have been incomplete, so it is read again.
  if (!isId(id)) id = row.attempts[index] = await claims.findTaskId(row.key, index + 1);
  if (!isId(id)) return { kind: "lost", file: id, task: null };
  const entry = await ledger.read(id);
  if (entry?.kind === "task" && !mayHaveEnded(entry.task, ledger))
    return { ...entry, task: await ledger.withLostReplies(entry.task) };
  // A disk error might be temporary, so it is thrown. Damaged bytes are permanent, so the outcome is unknown.
  if (entry?.kind === "damaged" && errorCode(entry.cause) !== undefined)
    assertReadable(entry, "so the charge for its row is unknown");
  if (entry !== null && entry.kind !== "task") return entry;
  const claimed = toEndedAttempt(await claims.read(row.key, index + 1));
  if (entry !== null) return claimed?.kind === "task" ? claimed : entry;
  // The task might have begun after the ledger was read, so the ledger is read again.
  return claimed?.kind === "lost" ? ((await ledger.read(id)) ?? claimed) : claimed;
}

/** Whether a task that the ledger lists as open might have ended. The claim gets the outcome before the ledger. */
function mayHaveEnded({ id, state, requests }: Task, ledger: AttemptDeps["ledger"]): boolean {
  if (!STATES[state].isOpen) return false;
  return requests.every(({ attempts }) => attempts.length === 0) || !ledger.isOpen(id);
}

function toEndedAttempt(claimed: Attempt): Attempt {
  if (claimed?.kind !== "task" || !STATES[claimed.task.state].isOpen) return claimed;
  return { kind: "lost", file: claimed.file, task: claimed.task };
}

const ROW_STATES: Readonly<Record<TaskState, RowState>> = {
  waiting: "unfinished",
  started: "unfinished",
  accepted: "unfinished",
  completed: "unfinished",
  not_sent: "new",
  refused: "new",
  unknown: "unknown",
  dismissed: "unknown",
  failed: "failed",
  cancelled: "failed",
  saved: "saved",
};

export function rowState(entry: Attempt, ledger: Pick<Ledger, "isClaimed">): RowState {
  if (entry === null) return "new";
  // A task that cannot be read might have been charged, so its row must not count as new.
  if (entry.kind !== "task") return "unknown";
  const { state } = entry.task;
  if ((state === "waiting" || state === "started") && ledger.isClaimed(entry.task)) return "waiting";
  return endsUnsent(entry.task) ? "new" : ROW_STATES[state];
}

/** State of a row at the end of a run. A refused row counts as failed, because this run does not submit it again. */
export function finalRowState({ state, error }: { state: TaskState; error: Error | null }): RowState {
  const hasMissingFiles = state === "saved" && error !== null;
  return state === "refused" || hasMissingFiles ? "failed" : ROW_STATES[state];
}

export interface PlannedRow extends CheckedRow, RowAttempts {
  state: RowState;
  /** Attempt that this run submits again, or null. Chosen before the run, so that no row is resubmitted twice. */
  resubmit: string | null;
}

export function isToSubmit({ state, resubmit }: Pick<PlannedRow, "state" | "resubmit">): boolean {
  return state === "new" || resubmit !== null;
}

/** Sum of documented costs, in credits, and number of rows whose cost is undocumented. */
export interface TotalCost {
  rows: number;
  credits: number;
  undocumented: number;
  /** Number of requests in rows of undocumented cost, without the first request of each row. Default: 0. */
  extraRequests?: number;
}

export interface BatchPlan {
  /** Sorted, with unfinished rows first. */
  rows: PlannedRow[];
  toSubmit: TotalCost;
  /** Possible charges of earlier runs for the rows of the plan. */
  charged: TotalCost;
  /** Possible charges of earlier runs for rows that were removed from the manifest. */
  chargedForOthers: TotalCost;
  /** Names of the claims included in `charged` and `chargedForOthers`. Claims without a charge are not included. */
  claimed: ReadonlySet<string>;
}

const READ_CONCURRENCY = 16;

export interface PlanDeps extends AttemptDeps {
  claims: Pick<RowClaims, "load" | "list" | "findTaskId" | "read">;
  resubmits: ReadonlySet<RowState>;
  /** Whether the row with a given key counts toward the budget; null if only the manifest's rows count. */
  countsKey: ((key: string) => boolean) | null;
}

export async function planBatch(checked: readonly CheckedRow[], deps: PlanDeps): Promise<BatchPlan> {
  const tasks = await deps.claims.load();
  const rows = withKnownKeys(checked, (key) => tasks.has(key));
  const claimed = new Set<string>();
  const charged = noCost();
  const toSubmit = noCost();
  const planned = await mapConcurrent(rows, READ_CONCURRENCY, async (row): Promise<PlannedRow> => {
    const attempted = { key: row.key, attempts: tasks.get(row.key) ?? [] };
    const { id, entry } = await addCharges(attempted, row.checked.credits, { charged, claimed }, deps);
    const state = rowState(entry, deps.ledger);
    const resubmit = shouldResubmit(state, entry, deps) ? id : null;
    const checked = isKnownPaid(entry) ? asPaidReplacement(row.checked) : row.checked;
    if (isToSubmit({ state, resubmit })) addCost(toSubmit, checked.credits, checked.requests);
    return { ...row, ...attempted, checked, state, resubmit };
  });
  const chargedForOthers = await addRemovedRowCharges(rows, tasks, claimed, deps);
  const getRank = (row: PlannedRow) => (row.state === "unfinished" ? 0 : 1);
  const ordered = planned.toSorted((a, b) => getRank(a) - getRank(b));
  return { rows: ordered, toSubmit, charged, chargedForOthers, claimed };
}

function shouldResubmit(state: RowState, entry: Attempt, deps: PlanDeps): boolean {
  if (!deps.resubmits.has(state)) return false;
  if (state === "unknown") return isUnknownFinal(entry, deps);
  // The row is submitted by its waiting task, because a second task would be charged too.
  return entry?.kind !== "task" || entry.task.state !== "waiting";
}

async function addRemovedRowCharges(
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
  await mapConcurrent(others, READ_CONCURRENCY, ([key, attempts]) =>
    addCharges({ key, attempts }, null, { charged, claimed }, deps),
  );
  return charged;
}

/** @param credits assumed cost of an attempt whose record cannot be read @returns the last attempt */
async function addCharges(
  row: RowAttempts,
  credits: number | null,
  { charged, claimed }: { charged: TotalCost; claimed: Set<string> },
  deps: PlanDeps,
): Promise<IdentifiedAttempt> {
  let last: IdentifiedAttempt = { id: null, entry: null, claim: null };
  for await (const attempt of withReplacements(row, deps)) {
    last = attempt;
    const { entry, claim } = attempt;
    const isChargeable = entry?.kind === "task" && mayBeCharged(entry.task);
    if (!isChargeable && (entry === null || isReadable(entry))) continue;
    addCost(charged, isChargeable ? spentCredits(entry.task) : credits);
    if (claim !== null) claimed.add(claim);
  }
  return last;
}

/** Whether an unknown outcome stays unknown, because no process is working on the task. */
function isUnknownFinal(entry: Attempt, { ledger }: PlanDeps): boolean {
  return entry?.kind === "lost" || (entry?.kind === "task" && !ledger.isClaimed(entry.task));
}

function isKnownPaid(entry: Attempt): boolean {
  return entry !== null && "task" in entry && entry.task?.intent.isPaid === true;
}

interface IdentifiedAttempt {
  id: string | null;
  entry: Attempt;
  /** Name of the claim; null for a replacement, which has no claim. */
  claim: string | null;
}

/** Yields the attempts of a row, then the replacements of the last attempt, which the user submitted with `rerun`. */
async function* withReplacements(row: RowAttempts, deps: PlanDeps): AsyncGenerator<IdentifiedAttempt> {
  const seen = new Set(row.attempts);
  let entry: Attempt = null;
  for (const at of row.attempts.keys()) {
    entry = await readAttempt(row, at, deps);
    yield { id: row.attempts[at] ?? null, entry, claim: attemptName(row.key, at + 1) };
  }
  for (let id = replacementId(entry); id !== null && !seen.has(id); id = replacementId(entry)) {
    seen.add(id);
    // A replacement whose file was removed might have been charged, so it counts as lost.
    entry = (await deps.ledger.read(id)) ?? { kind: "lost", file: id, task: null };
    yield { id, entry, claim: null };
  }
}

function replacementId(entry: Attempt): string | null {
  return entry?.kind === "task" && entry.task.state === "dismissed"
    ? (entry.task.dismissal?.replacement ?? null)
    : null;
}

function isReadable({ kind }: NonNullable<Attempt>): boolean {
  return kind === "task" || kind === "stub";
}

export function documentedCredits({ credits, undocumented }: TotalCost): number | null {
  return undocumented > 0 ? null : credits;
}

export function noCost(): TotalCost {
  return { rows: 0, credits: 0, undocumented: 0 };
}

/** @param credits cost of all requests of one row; null if undocumented */
export function addCost(cost: TotalCost, credits: number | null, requests = 1): void {
  cost.rows += 1;
  if (credits !== null) cost.credits += credits;
  else {
    cost.undocumented += 1;
    if (requests > 1) cost.extraRequests = (cost.extraRequests ?? 0) + requests - 1;
  }
}
