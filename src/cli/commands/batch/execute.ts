import { findBatch, identifyBatch } from "../../../core/batch/batch-folder.ts";
import { type BatchRow, batchId, type OutputFolder } from "../../../core/batch/batch-row.ts";
import { BatchCounts } from "../../../core/batch/counts.ts";
import { noteEarlierImages } from "../../../core/batch/earlier-images.ts";
import { ManifestError } from "../../../core/batch/manifest-error.ts";
import type { Cost, PlannedRow } from "../../../core/batch/plan.ts";
import { planWithFiles, prepareFolders } from "../../../core/batch/row-files.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { runRows } from "../../../core/batch/run-batch.ts";
import { inShard, type Shard } from "../../../core/batch/shard.ts";
import type { TaskDeps } from "../../../core/deps.ts";
import { Admission } from "../../../core/limits/admission.ts";
import { checkDailyLimit } from "../../../core/limits/daily-limit.ts";
import type { WaitSettings } from "../../../core/polling/wait-settings.ts";
import type { ImggenError } from "../../../lib/errors.ts";
import { BatchClaims } from "../../../store/batch-claims.ts";
import { BatchFolders } from "../../../store/batch-folders.ts";
import type { Session } from "../../app/session.ts";
import { withTasksShown } from "../../tasks/with-tasks.ts";
import { type Allowance, agreeOnCosts } from "./costs.ts";
import { foreignFolderQuestion } from "./foreign-folder.ts";
import { type BatchProgress, createBatchProgress } from "./progress.ts";

/** Rows that were checked, and how they are to be run. */
export interface BatchOrder {
  rows: BatchRow[];
  place: OutputFolder;
  wait: WaitSettings;
  concurrency: number;
  resubmitUnknown: boolean;
  /** The part of the rows that this is; null for all of them. */
  shard: Shard | null;
  /** Whether the budget is that of all rows that were ever submitted into the folder, or of these rows alone. */
  budgetOf: "folder" | "rows";
  allowance: Allowance;
  requestTimeoutMs: number | undefined;
  /** What a row is called in a word to a person. */
  nameOf: (row: BatchRow) => string;
  /** Tells how the batch stands when a second signal ends the program at once; null where only its end is told. */
  onCutOff: ((result: BatchResult) => Promise<void>) | null;
}

/** How a batch ended. */
export interface BatchResult {
  tally: BatchCounts;
  rows: number;
  /** What may have been charged in earlier runs. */
  charged: Cost;
  /** What stopped it before its end: the account, or a signal. */
  stopped: ImggenError | null;
}

// Another process on the same batch has its own time-outs; so long its rows are waited for: as 4K takes.
const PATIENCE_WITH_OTHERS_MS = 600_000;

/**
 * Plans a batch, agrees on its cost, and runs it. Each row is told of as it ends.
 * @throws BudgetExceededError, ManifestError, SaveFailedError, or what the account lacks; nothing was sent then
 */
export async function executeBatch(
  order: BatchOrder,
  session: Session,
  onEnd: (end: RowResult) => Promise<void>,
): Promise<BatchResult> {
  const { rows, nameOf, requestTimeoutMs } = order;
  const progress = await createBatchProgress(session, rows.length, nameOf);
  return withTasksShown(session, { requestTimeoutMs }, progress, async ({ current }) =>
    runAgreed(order, await current(), progress, session, onEnd),
  );
}

async function runAgreed(
  order: BatchOrder,
  deps: TaskDeps,
  progress: BatchProgress,
  session: Session,
  onEnd: (end: RowResult) => Promise<void>,
): Promise<BatchResult> {
  const { place, wait, concurrency, resubmitUnknown } = order;
  const { connection, ledger, clock, random, signal } = deps;
  const folders = new BatchFolders(ledger.folder);
  const found = await findBatch(place.folder, folders);
  const claims = new BatchClaims(ledger.folder, batchId(connection.identity.baseUrl, found.origin), clock);
  const countsKey = budgetedKeys(order);
  const planDeps = { claims, ledger, resubmitUnknown, countsKey };
  const { plan, misplaced } = await planWithFiles(order.rows, place, planDeps);
  if (misplaced.length > 0) throw new ManifestError(misplaced);
  const { allowUndocumented, yes } = order.allowance;
  const isShard = order.shard !== null;
  const agree = foreignFolderQuestion({ folder: place.folder, yes, isShard }, plan, session);
  await agree(found);
  await checkDailyLimit(plan.toSubmit, connection.identity.keyId, deps, allowUndocumented);
  await agreeOnCosts(plan, order.allowance, session);
  await prepareFolders(plan.rows, place);
  if (plan.rows.length > 0)
    await identifyBatch(place.folder, found, { folders, nowMs: clock.now(), isShard, agree });
  if (place.overwrite) await noteEarlierImages(claims, deps);
  const onOutage = (outage: Parameters<BatchProgress["showOutage"]>[0]) => progress.showOutage(outage);
  const onPause = (ms: number) => progress.showPause(ms);
  const admission = new Admission(connection.service, { clock, random, onOutage, onPause });
  const tally = new BatchCounts(order.nameOf);
  const run = { place, wait, claims, admission, deps, outage: { error: null } };
  const result = () => {
    const stopped = admission.stopped ?? reasonOf(signal);
    return { tally, rows: plan.rows.length, charged: plan.charged, stopped };
  };
  const left = new Set(plan.rows);
  const begun = new Set<PlannedRow>();
  let isCutOff = false;
  const cutOff = async () => {
    isCutOff = true;
    for (const row of left) begun.has(row) ? tally.abandon(row) : tally.leave(row);
    await order.onCutOff?.(result());
  };
  const options = {
    concurrency,
    patienceMs: PATIENCE_WITH_OTHERS_MS,
    onStart(row: PlannedRow) {
      begun.add(row);
      progress.begin();
    },
    async onEnd(end: RowResult) {
      // The last line was told already.
      if (isCutOff) return;
      left.delete(end.row);
      tally.add(end);
      progress.end(end, tally);
      await onEnd(end);
    },
  };
  const unended = await withLastWord(order.onCutOff && cutOff, session, () =>
    runRows(plan.rows, options, run),
  );
  for (const row of unended) tally.leave(row);
  return result();
}

/** Has something said when a second signal ends the program in the middle of some work. */
async function withLastWord<Result>(
  lastWord: (() => Promise<void>) | null,
  { context }: Session,
  work: () => Promise<Result>,
): Promise<Result> {
  const usual = context.lastWord;
  if (lastWord !== null) context.lastWord = lastWord;
  try {
    return await work();
  } finally {
    context.lastWord = usual;
  }
}

/** Which rows of the batch count for the budget beside those of this run; null for none. */
function budgetedKeys({ allowance, shard, budgetOf }: BatchOrder): ((key: string) => boolean) | null {
  if (allowance.cap === null || budgetOf === "rows") return null;
  return (key) => shard === null || inShard(key, shard);
}

function reasonOf(signal: AbortSignal): ImggenError | null {
  return signal.aborted ? signal.reason : null;
}
