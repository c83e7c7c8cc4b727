import type { ImggenError } from "../../lib/error-types.ts";
import { BatchClaims } from "../../store/batch-claims.ts";
import { BatchFolders } from "../../store/batch-folders.ts";
import type { TaskDeps } from "../deps.ts";
import { interruptedError } from "../errors.ts";
import { Admission } from "../limits/admission.ts";
import { type CostRules, checkBatchBudget } from "../limits/budget.ts";
import type { CircuitBreakerDeps } from "../limits/circuit-breaker.ts";
import { checkDailyLimit } from "../limits/daily-limit.ts";
import type { RateLimiterDeps } from "../limits/rate-limiter.ts";
import type { WaitSettings } from "../polling/wait.ts";
import { type FoundBatch, findBatch, identifyBatch } from "./batch-folder.ts";
import { batchId, type CheckedRow, type OutputFolder } from "./batch-row.ts";
import { BudgetWatch } from "./budget-watch.ts";
import { BatchCounts } from "./counts.ts";
import { noteEarlierImages } from "./earlier-images.ts";
import { ManifestError } from "./manifest-error.ts";
import type { BatchPlan, PlannedRow, TotalCost } from "./plan.ts";
import { planWithFiles, prepareFolders } from "./row-files.ts";
import type { RowResult } from "./row-result.ts";
import type { BatchContext } from "./run-context.ts";
import { runRows } from "./run-rows.ts";
import { inShard, type Shard } from "./shard.ts";

/** Rows under way at once. */
export const DEFAULT_CONCURRENCY = 4;
export const MOST_CONCURRENCY = 256;

/** Rows that were checked, and how they are to be run. */
export interface BatchSpec extends CostRules {
  rows: CheckedRow[];
  output: OutputFolder;
  wait: WaitSettings;
  concurrency: number;
  /** Whether rows of unknown outcome are submitted again. */
  resubmitUnknown: boolean;
  /** Whether rows are submitted again that the service could not finish. */
  retryFailed: boolean;
  /** The part of the rows that this is; null for all of them. */
  shard: Shard | null;
  /** Whether the budget is that of all rows that were ever submitted into the folder, or of these rows alone. */
  budgetOf: "folder" | "rows";
  /** The budget in credits, earlier runs included; null for none. */
  cap: number | null;
  /** How messages for people name a row. */
  nameOf: (row: CheckedRow) => string;
}

/** How a batch ended, or its state so far. */
export interface BatchResult {
  counts: BatchCounts;
  rows: number;
  /** What may have been charged in earlier runs. */
  charged: TotalCost;
  /** Why it stopped early: an error of the account, or a signal. null if it did not. */
  stopped: ImggenError | null;
}

/** Agrees to a batch before it is run, and is notified of its progress. */
export interface BatchWatcher
  extends Pick<CircuitBreakerDeps, "onOutage">,
    Required<Pick<RateLimiterDeps, "onPause">> {
  /**
   * Whether this ledger adopts a folder that other ledgers may have submitted rows into.
   * @throws if the user declines; nothing was sent
   */
  agreeOnFolder: (found: FoundBatch, plan: BatchPlan) => Promise<boolean>;
  /** The batch is within its budget and may be submitted. @throws if the user declines; nothing was sent */
  agreeOnCosts: (plan: BatchPlan) => Promise<void>;
  /** Rows are submitted from now on. `cutOff` returns the state so far, for when the process is about to end. */
  onRun?: (cutOff: () => BatchResult) => void;
  onStart: (row: PlannedRow) => void;
  onEnd: (end: RowResult, counts: BatchCounts) => Promise<void>;
}

// Rows that another process holds are waited for as long as its longest default timeout, which is that of 4K.
const PATIENCE_WITH_OTHERS_MS = 600_000;

/**
 * Plans a batch, asks the watcher to agree, and runs it. Reports each row as it ends.
 * @throws BudgetExceededError, ManifestError, SaveFailedError, or what the account lacks; nothing was sent then
 */
export async function executeBatch(
  spec: BatchSpec,
  watcher: BatchWatcher,
  deps: TaskDeps,
): Promise<BatchResult> {
  const { output, resubmitUnknown, retryFailed, cap, shard } = spec;
  const { connection, ledger, clock } = deps;
  const folders = new BatchFolders(ledger.folder);
  const found = await findBatch(output.folder, folders);
  const claims = new BatchClaims(ledger.folder, batchId(connection.identity.baseUrl, found.origin), clock);
  const planDeps = { claims, ledger, resubmitUnknown, retryFailed, countsKey: budgetedKeys(spec) };
  const { plan, misplaced } = await planWithFiles(spec.rows, output, planDeps);
  if (misplaced.length > 0) throw new ManifestError(misplaced);
  const agree = (batch: FoundBatch) => watcher.agreeOnFolder(batch, plan);
  await agree(found);
  await checkDailyLimit(plan.toSubmit, connection.identity.keyId, deps, spec);
  if (cap !== null) checkBatchBudget(plan, cap, spec);
  await watcher.agreeOnCosts(plan);
  await prepareFolders(plan.rows, output);
  const identifying = { folders, nowMs: clock.now(), isShard: shard !== null, agree };
  if (plan.rows.length > 0) await identifyBatch(output.folder, found, identifying);
  if (output.overwrite) await noteEarlierImages(claims, deps);
  const budget = cap === null || spec.budgetOf === "rows" ? null : new BudgetWatch(plan, cap, planDeps);
  return runPlanned(plan, { claims, budget }, spec, watcher, deps);
}

async function runPlanned(
  plan: BatchPlan,
  { claims, budget }: Pick<BatchContext, "claims" | "budget">,
  { output, wait, concurrency, nameOf }: BatchSpec,
  watcher: BatchWatcher,
  deps: TaskDeps,
): Promise<BatchResult> {
  const { connection, clock, random, signal } = deps;
  const { onOutage, onPause } = watcher;
  const admission = new Admission(connection.service, { clock, random, onOutage, onPause });
  const counts = new BatchCounts(nameOf);
  const result = () => {
    const stopped = admission.stopped ?? (signal.aborted ? interruptedError(signal, "unknown") : null);
    return { counts, rows: plan.rows.length, charged: plan.charged, stopped };
  };
  const left = new Set(plan.rows);
  const begun = new Set<PlannedRow>();
  let isCutOff = false;
  watcher.onRun?.(() => {
    isCutOff = true;
    for (const row of left) begun.has(row) ? counts.abandon(row) : counts.leave(row);
    return result();
  });
  const options = {
    concurrency,
    patienceMs: PATIENCE_WITH_OTHERS_MS,
    onStart(row: PlannedRow) {
      begun.add(row);
      watcher.onStart(row);
    },
    async onEnd(end: RowResult) {
      // The result was reported already.
      if (isCutOff) return;
      left.delete(end.row);
      counts.add(end);
      await watcher.onEnd(end, counts);
    },
  };
  const run = { output, wait, claims, budget, admission, deps, outage: { error: null } };
  for (const row of await runRows(plan.rows, options, run)) counts.leave(row);
  return result();
}

/** Which rows count toward the budget in addition to those of this run; null for none. */
export function budgetedKeys({ cap, shard, budgetOf }: BatchSpec): ((key: string) => boolean) | null {
  if (cap === null || budgetOf === "rows") return null;
  return (key) => shard === null || inShard(key, shard);
}
