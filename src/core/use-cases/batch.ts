import { mapConcurrent } from "../../lib/concurrency.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { BatchFolders } from "../../store/batch-folders.ts";
import type { Ledger } from "../../store/ledger.ts";
import { RowClaims } from "../../store/row-claims.ts";
import { getSavedFiles } from "../../task/task.ts";
import { agreeOnCosts, folderAgreement } from "../batch/agreement.ts";
import { batchCap } from "../batch/batch-cap.ts";
import { type BatchEvents, type BatchResult, type BatchSpec, budgetedKeys } from "../batch/batch-spec.ts";
import { BatchCounts } from "../batch/counts.ts";
import { batchId, type FolderBatch, findBatch, identifyBatch } from "../batch/identify-batch.ts";
import type { BatchPlan, PlanDeps, PlannedRow } from "../batch/plan.ts";
import { planWithFiles, prepareFolders } from "../batch/row-files.ts";
import type { RowResult } from "../batch/row-result.ts";
import type { BatchContext } from "../batch/run-row.ts";
import { runRows } from "../batch/run-rows.ts";
import type { TaskDeps } from "../engine/deps.ts";
import { unsupportedError } from "../engine/jobs.ts";
import { ManifestError } from "../errors.ts";
import { checkBatchBudget, checkDailyLimit, spendingAccount } from "../limits/budget.ts";
import { Gate } from "../limits/gate.ts";

// Maximum wait for rows of another process: the longest default timeout, which is that of 4K images.
const CLAIMED_TIMEOUT_MS = 600_000;

/** A batch with checked rows, files and budget, and with its state in the ledger. */
interface PlannedBatch extends Pick<PlanDeps, "countsKey"> {
  plan: BatchPlan;
  claims: RowClaims;
  folders: BatchFolders;
  foundBatch: FolderBatch;
}

/**
 * Plans a batch, without a connection or a write. @throws BudgetExceededError, ManifestError
 * @param service name of the provider in the ledger
 */
export async function createBatchPlan(
  spec: BatchSpec,
  service: string,
  ledger: Ledger,
): Promise<PlannedBatch> {
  const { output, cap } = spec;
  const folders = new BatchFolders(ledger.folder);
  const foundBatch = await findBatch(output.folder, folders);
  const claims = new RowClaims(ledger.folder, batchId(service, foundBatch.origin));
  const countsKey = budgetedKeys(spec);
  const { plan, misplaced } = await planWithFiles(spec.rows, output, { ...spec, claims, ledger, countsKey });
  if (misplaced.length > 0) throw new ManifestError(misplaced);
  if (cap !== null) checkBatchBudget(plan, cap, spec);
  return { plan, claims, folders, foundBatch, countsKey };
}

/**
 * Plans a batch, asks the caller to confirm the plan, and runs it. If an error is thrown, nothing was sent.
 * @throws BudgetExceededError, ManifestError, SaveFailedError, UsageError, or an account's error
 */
export async function batch(spec: BatchSpec, deps: TaskDeps, events: BatchEvents): Promise<BatchResult> {
  const { output, cap, shard } = spec;
  const { connection, ledger, clock } = deps;
  const problems = spec.rows.flatMap(({ line, checked }) => {
    const error = unsupportedError(checked.request, connection);
    return error === null ? [] : [{ line, message: error.message }];
  });
  if (problems.length > 0) throw new ManifestError(problems);
  const { plan, claims, folders, foundBatch, countsKey } = await createBatchPlan(
    spec,
    connection.identity.baseUrl,
    ledger,
  );
  const agree = folderAgreement(plan, spec, events);
  await agree(foundBatch);
  const account = spendingAccount(connection.identity, connection.generator !== undefined);
  await checkDailyLimit(plan.toSubmit, account, deps, spec);
  await events.onPlan?.(plan);
  await agreeOnCosts(plan, spec, events);
  await prepareFolders(plan.rows, output);
  await spec.copies?.make();
  const identifying = { folders, nowMs: clock.now(), isShard: shard !== null, agree };
  if (plan.rows.length > 0) await identifyBatch(output.folder, foundBatch, identifying);
  if (output.overwrite) await addEarlierNames(claims, deps);
  const isShared = cap !== null && spec.budgetOf === "folder";
  const planDeps = { ...spec, claims, ledger, countsKey };
  const caps = isShared ? [...deps.caps, batchCap(plan, cap, planDeps)] : deps.caps;
  return runPlanned(plan, claims, spec, events, { ...deps, caps });
}

async function runPlanned(
  plan: BatchPlan,
  claims: BatchContext["claims"],
  { output, wait, concurrency, nameOf }: BatchSpec,
  events: BatchEvents,
  deps: TaskDeps,
): Promise<BatchResult> {
  const { connection, clock, random, signal } = deps;
  const { onOutage, onPause } = events;
  const gate = new Gate({ clock, random, onOutage, onPause });
  const counts = new BatchCounts(nameOf);
  const getResult = () => {
    const stopped = gate.stopped ?? (signal.aborted ? interruptedError(signal, "unknown") : null);
    return { counts, rows: plan.rows.length, charged: plan.charged, stopped };
  };
  const remaining = new Set(plan.rows);
  const startedRows = new Set<PlannedRow>();
  let isStopped = false;
  events.onRun?.(() => {
    isStopped = true;
    for (const row of remaining) startedRows.has(row) ? counts.addUnfinished(row) : counts.addUnstarted(row);
    return getResult();
  });
  // One row more than can be in flight is run, so that the next row is ready while an image is saved.
  const maxInFlight = (connection.provider.limits.concurrency ?? concurrency) + 1;
  const options = {
    concurrency: Math.min(concurrency, maxInFlight),
    timeoutMs: CLAIMED_TIMEOUT_MS,
    onStart(row: PlannedRow) {
      startedRows.add(row);
      events.onStart?.(row);
    },
    async onEnd(end: RowResult) {
      // After a stop, the result of the batch was already reported.
      if (isStopped) return;
      remaining.delete(end.row);
      counts.add(end);
      await events.onEnd(end, counts);
    },
  };
  // The gate alone decides when to give up a row that was not sent.
  const run = { output, wait, claims, deps: { ...deps, gate, maxUnsent: Number.POSITIVE_INFINITY } };
  for (const row of await runRows(plan.rows, options, run)) counts.addUnstarted(row);
  return getResult();
}

const READ_CONCURRENCY = 16;

/** Collects the names of images of earlier runs, even of removed rows, because --overwrite must not replace them. */
async function addEarlierNames(
  claims: Pick<RowClaims, "load">,
  { ledger, published }: Pick<TaskDeps, "ledger" | "published">,
): Promise<void> {
  const ids = [...(await claims.load()).values()].flat();
  await mapConcurrent(ids, READ_CONCURRENCY, async (id) => {
    const entry = await ledger.read(id);
    const files = entry?.kind === "task" ? getSavedFiles(entry.task) : [];
    for (const { path } of files) if (path !== null) await published.addEarlier(path);
  });
}
