import path from "node:path";
import { NoRoomError } from "../../api/api-errors.ts";
import { isRetryable } from "../../api/retry.ts";
import { isoTime } from "../../lib/clock.ts";
import { errorCode } from "../../lib/error-text.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { InterruptedError } from "../../lib/interrupted.ts";
import { isNameTaken } from "../../lib/publish.ts";
import type { RowClaims } from "../../store/row-claims.ts";
import type { Destination } from "../../task/intent.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import { displayId, endsUnsent, isUnknown, openTaskState, STATES, type Task } from "../../task/task.ts";
import { beginAndDrive, createIntent } from "../engine/begin.ts";
import { type ClaimedTask, claimTask } from "../engine/claimed-task.ts";
import { type ContinueSpec, continueClaimed, continueNamed } from "../engine/continue.ts";
import { requestIdentity, singleAccountDeps, type TaskDeps, type UseCaseDeps } from "../engine/deps.ts";
import { dismissClaimed } from "../engine/dismiss.ts";
import { driveTask } from "../engine/drive.ts";
import { type TaskReport, taskReport } from "../engine/report.ts";
import { gateError } from "../engine/send.ts";
import { isAccountError, requireSameAccount, TakenOverError } from "../errors.ts";
import type { WaitSettings } from "../polling/wait.ts";
import { type PlannedRow, readAttempt } from "./plan.ts";
import { destinationFolder, movedDestination, type OutputFolder, rowDestination } from "./row-files.ts";
import {
  errorResult,
  notSentResult,
  type RowResult,
  rowResult,
  savedEarlierResult,
  unknownResult,
  unreadableResult,
  unreadRowResult,
} from "./row-result.ts";

export interface BatchContext {
  output: OutputFolder;
  wait: WaitSettings;
  claims: RowClaims;
  /** Shared by all rows, so that one gate limits all their submits. */
  deps: TaskDeps;
}

/** `elsewhere`: another process is working on the row. `again`: the row has changed, so a new step is chosen. */
type Step = RowResult | "elsewhere" | "again";

/**
 * @returns "elsewhere" if another process is working on the row
 * @throws the reason of the abort signal, if the signal prevented the submit
 */
export async function runRow(row: PlannedRow, run: BatchContext): Promise<RowResult | "elsewhere"> {
  for (;;) {
    const step = await nextStep(row, run).catch((error: unknown) => failedRow(row, error, run));
    if (step === "again") continue;
    if (step === "elsewhere" || !step.error) return step;
    const { gate } = run.deps;
    if (gate.stopped !== null && repeatsStop(step, gate.stopped)) return notSentResult(row, gate.stopped);
    if (stopsBatch(step.error)) gate.stop(step.error);
    return step;
  }
}

/** Whether a row failed with the error that already stopped the batch. It is reported only for the first row. */
function repeatsStop({ error, report }: RowResult, stopped: ImggenError): boolean {
  if (error === null || report?.charged !== "no" || !stopsBatch(error)) return false;
  if (report.state === "not_sent") return true;
  return report.state === "refused" && error !== stopped && error.cause !== stopped;
}

/** Codes of disk errors that would also occur for every further image. */
const FATAL_DISK_ERRORS: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EROFS", "EIO"]);

/** Whether no more rows are submitted after this error. Rows that are already running are finished. */
function stopsBatch(error: ImggenError): boolean {
  if (isAccountError(error) || error.type === "budget_exceeded") return true;
  if (error.type === "network" && !isRetryable(error)) return true;
  if (error instanceof NoRoomError) return true;
  return error.type === "save_failed" && FATAL_DISK_ERRORS.has(errorCode(error.cause) ?? "");
}

/** Converts the error of one row, such as another account's task, to a result, so that the batch continues. */
function failedRow(row: PlannedRow, error: unknown, { deps }: BatchContext): RowResult {
  if (!(error instanceof ImggenError) || error === deps.signal.reason) throw error;
  // Only a new row has no earlier attempt that might have been charged.
  return row.state === "new" ? errorResult("failed", row, error) : unreadRowResult(row, error);
}

async function nextStep(row: PlannedRow, run: BatchContext): Promise<Step> {
  const { claims, deps } = run;
  const { length } = row.attempts;
  if (length === 0) return submitRow(row, 1, run);
  const entry = await readAttempt(row, length - 1, { claims, ledger: deps.ledger });
  if (entry === null) return submitRow(row, length, run);
  if (entry.kind === "lost" && isResubmitted(row)) return submitRow(row, length + 1, run);
  if (entry.kind !== "task") return unreadableResult(row, entry, await findSameRequest(row, run));
  const { task } = entry;
  return nextStepForTask(row, task, run).catch((error: unknown) => {
    if (!(error instanceof ImggenError) || error === deps.signal.reason) throw error;
    // The error does not show whether the task was charged, so the charge is taken from the task's record.
    return rowResult(row, { ...taskReport(task), error }, false);
  });
}

/** Whether the plan submits the row's latest attempt again. False if another attempt was made since the plan. */
function isResubmitted({ resubmit, attempts }: PlannedRow): boolean {
  return resubmit !== null && resubmit === attempts.at(-1);
}

async function nextStepForTask(row: PlannedRow, task: Task, run: BatchContext): Promise<Step> {
  const next = row.attempts.length + 1;
  switch (task.state) {
    case "saved":
      return isResubmitted(row) ? submitRow(row, next, run) : checkSavedRow(row, task, run);
    case "not_sent":
    case "refused":
      return submitRow(row, next, run);
    case "failed":
    case "cancelled":
      return isResubmitted(row) ? submitRow(row, next, run) : rowResult(row, taskReport(task), false);
    case "dismissed": {
      const replacement = task.dismissal?.replacement ?? null;
      if (replacement !== null) return adoptReplacement(row, replacement, run);
      return isResubmitted(row) ? submitRow(row, next, run) : unknownResult(row, task);
    }
    case "unknown":
      return isResubmitted(row) ? resubmitUnknown(row, task, run) : unknownResult(row, task);
    case "waiting":
    case "started":
    case "accepted":
    case "completed":
      if (isResubmitted(row)) return submitRow(row, next, run);
      if (openTaskState(task) === "unknown") return rowResult(row, taskReport(task), false);
      requireAccount(task.intent, displayId(task), run);
      return withClaimedTask(row, task, run, (claimedTask) => continueRow(row, claimedTask, run));
  }
}

/** Claims an attempt, unless an earlier run has claimed it, and submits the row. @param attempt number, from 1 */
async function submitRow(row: PlannedRow, attempt: number, run: BatchContext): Promise<Step> {
  const { claims, deps } = run;
  deps.signal.throwIfAborted();
  if (deps.gate.isClosed) return notSentResult(row, gateError(deps.gate));
  const spec = { checked: row.checked, destination: rowDestination(row, run.output), wait: run.wait };
  const intent = createIntent(spec, deps);
  if (attempt > row.attempts.length) {
    const id = deps.ledger.newId();
    const at = isoTime(deps.clock.now());
    const owner = await claims.claim(row.key, attempt, { id, intent, at });
    row.attempts.push(owner);
    if (owner !== id) return "again";
  }
  const beginOptions = {
    id: row.attempts[attempt - 1] ?? "",
    claim: claims.claimName(row.key, attempt),
    isShared: true,
    // A task whose claim shows that it has begun might have been sent, even if the ledger no longer contains the task.
    isFree: async () => (await claims.read(row.key, attempt)) === null,
  };
  const report = await beginAndDrive(intent, spec, beginOptions, deps);
  return report === "taken" ? "again" : afterSubmit(row, report, run);
}

/** @throws the reason of the abort signal, if the signal prevented the submit */
function afterSubmit(row: PlannedRow, report: TaskReport, { deps }: BatchContext): Step {
  const { error, state } = report;
  if (error instanceof TakenOverError) return "again";
  if (state !== "not_sent" || error === null) return rowResult(row, report, true);
  if (error instanceof InterruptedError) throw deps.signal.reason;
  if (error === deps.gate.stopped) return notSentResult(row, error);
  if (error.type !== "network" || stopsBatch(error)) return rowResult(row, report, true);
  // An outage prevented the submit. If the gate is open again, the outage is over, so the row is tried again.
  return deps.gate.isClosed ? notSentResult(row, error) : "again";
}

async function withClaimedTask(
  row: PlannedRow,
  task: Task,
  { deps }: BatchContext,
  action: (claimedTask: ClaimedTask) => Promise<Step>,
): Promise<Step> {
  const { ledger, onProgress } = deps;
  const claimedTask = await claimTask(task, ledger, (message) =>
    onProgress({ type: "ledger_warning", message }),
  );
  if (claimedTask === "claimed") return "elsewhere";
  if (claimedTask !== "ended") return action(claimedTask);
  const entry = await ledger.read(task.id);
  const isOpenInDoneFolder =
    entry?.kind === "task" && STATES[entry.task.state].isOpen && !ledger.isOpen(task.id);
  return isOpenInDoneFolder ? unreadableResult(row, entry, null) : "again";
}

async function continueRow(row: PlannedRow, claimedTask: ClaimedTask, run: BatchContext): Promise<Step> {
  const spec = continueSpec(row, claimedTask.task, run);
  if (!endsUnsent(claimedTask.task))
    return rowResult(row, await continueClaimed(claimedTask, spec, useCaseDeps(run)), false);
  const report = await driveTask(
    claimedTask,
    { ...spec, isContinued: false },
    row.checked.warnings,
    run.deps,
  );
  return afterSubmit(row, report, run);
}

async function resubmitUnknown(row: PlannedRow, task: Task, run: BatchContext): Promise<Step> {
  const { ledger } = run.deps;
  return withClaimedTask(row, task, run, async (claimedTask) => {
    for (const line of ledger.lostReplyLines(claimedTask.task)) await claimedTask.record(line);
    if (!isUnknown(claimedTask.task)) {
      // Another process has continued the task since this process read it.
      await claimedTask.release();
      return "again";
    }
    await dismissClaimed(claimedTask, { why: "resubmitted by the user", replacement: null }, ledger);
    return submitRow(row, row.attempts.length + 1, run);
  });
}

async function adoptReplacement(row: PlannedRow, id: string, { claims, deps }: BatchContext): Promise<Step> {
  const at = isoTime(deps.clock.now());
  row.attempts.push(await claims.claim(row.key, row.attempts.length + 1, { id, intent: null, at }));
  return "again";
}

/** Finds the files of a saved row. Missing files are saved again, and files that the user changed are kept. */
async function checkSavedRow(row: PlannedRow, task: Task, run: BatchContext): Promise<Step> {
  const report = taskReport(task);
  const moved = movedDestination(row, task, run.output);
  const files = await Promise.all(report.files.map((file) => findFile(file, task, moved)));
  if (files.every((file) => file !== null)) return savedEarlierResult(row, { ...report, files });
  return rowResult(row, await continueNamed(task, continueSpec(row, task, run), useCaseDeps(run)), false);
}

/** Finds a saved file in the moved folder, or else in its original folder. Returns null if the file is in neither. */
async function findFile(
  file: SavedFile,
  { intent }: Task,
  moved: Destination | null,
): Promise<SavedFile | null> {
  if (moved !== null && file.path !== null) {
    const name = path.relative(destinationFolder(intent.destination), file.path);
    const movedPath = path.join(destinationFolder(moved), name);
    if (!name.startsWith("..") && (await isOnDisk(movedPath))) return { ...file, path: movedPath };
  }
  return (await isOnDisk(file.path)) ? file : null;
}

async function isOnDisk(file: string | null): Promise<boolean> {
  // After a disk error, the file counts as missing, because saving the image again checks the file once more.
  return file !== null && (await isNameTaken(file).catch(() => false));
}

function continueSpec(row: PlannedRow, task: Task, { wait, output }: BatchContext): ContinueSpec {
  return { wait, destination: movedDestination(row, task, output), keepsNewer: true, sends: true };
}

function useCaseDeps({ deps }: BatchContext): UseCaseDeps {
  return {
    ...singleAccountDeps(deps),
    async depsFor(intent, taskId) {
      requireAccount(intent, taskId, { deps });
      return deps;
    },
  };
}

/** @throws OtherAccountError */
function requireAccount(
  intent: Parameters<typeof requireSameAccount>[0],
  taskId: string,
  { deps }: Pick<BatchContext, "deps">,
): void {
  requireSameAccount(intent, deps.connection.identity, taskId, deps.acceptsOtherKey);
}

/** Finds the probable task of a row with a damaged claim: the newest task with its request, except known attempts. */
async function findSameRequest(
  { checked, attempts }: PlannedRow,
  { deps }: BatchContext,
): Promise<Task | null> {
  for await (const task of deps.ledger.findSameRequest(requestIdentity(checked.request, deps.connection)))
    if (!attempts.includes(task.id)) return task;
  return null;
}
