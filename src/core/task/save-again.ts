import { ServiceError } from "../../api/api-errors.ts";
import { type ErrorType, type ImggenError, UsageError } from "../../lib/error-types.ts";
import type { Destination } from "../../task/intent.ts";
import type { TaskState } from "../../task/lifecycle.ts";
import { chargedOf, type TaskRecord } from "../../task/record.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import type { TaskDeps, UseCaseDeps } from "../deps.ts";
import { SaveFailedError } from "../errors.ts";
import { isWhole } from "../images/copy-image.ts";
import type { WaitResult, WaitSettings } from "../polling/wait.ts";
import { finishTask } from "./finish.ts";
import { earlierTask, type ResumeSpec } from "./finish-owned.ts";
import { factsOf, reportOf, reportOfId, type TaskReport } from "./report.ts";
import { toSubmitAgain } from "./task-error.ts";

/**
 * Downloads a finished task once more, for as long as the service has it; what another provider has made is copied from
 * its files. Its ledger file is not written to.
 */
export async function saveAgain(
  record: TaskRecord,
  { taskId, acceptedAt, files = [] }: { taskId: string; acceptedAt: string; files?: readonly SavedFile[] },
  options: ResumeSpec,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  const { work, destination } = record.intent;
  const report = factsOf(record);
  if (work && isOnlyHere(files) && !(await areWhole(files)))
    return { ...report, error: notToBeHad(report, null) };
  const taskDeps = await deps.depsFor(record.intent, taskId);
  const task = earlierTask(taskId, acceptedAt, destination, options);
  if (!work) return finishTask(task, report, options.wait, taskDeps);
  const copied = { ...task, copies: files };
  return withCharge(record, await finishTask(copied, report, options.wait, taskDeps, seenAs(files)));
}

/** The report with the task's own charge. At the hosted service every finished task is charged; elsewhere some are free. */
function withCharge(record: TaskRecord, report: TaskReport): TaskReport {
  return record.intent.work ? { ...report, charged: chargedOf(record) } : report;
}

async function areWhole(files: readonly SavedFile[]): Promise<boolean> {
  const each = await Promise.all(files.map(async (file) => file.path !== null && isWhole(file)));
  return each.every(Boolean);
}

/** A task that has ended with these files. What has no URL is never asked for: its file is copied, or it is gone. */
function seenAs(files: readonly SavedFile[]): WaitResult {
  const urls = files.map(({ url }) => url ?? "");
  const seenMs = Number.POSITIVE_INFINITY;
  return { outcome: "ended", task: { status: "completed", urls }, seenMs, pendingMs: null };
}

/** Polls a task that the ledger does not have, and saves it. @throws UsageError, or what the account lacks */
export async function saveUnknownId(
  taskId: string,
  destination: Destination,
  wait: WaitSettings,
  deps: UseCaseDeps,
): Promise<TaskReport> {
  requireId(taskId);
  const taskDeps = await deps.current();
  requirePolls(taskId, taskDeps);
  const task = earlierTask(taskId, null, destination, { destination });
  return finishTask(task, reportOfId(taskId), wait, taskDeps);
}

/** The error key for a task that the service does not know (section 7). */
const NO_SUCH_TASK = "image_generation.error.unknown_error";

/**
 * A report on an id that only the user has named. Where the service refuses it too, or was not asked, nothing was
 * charged and there is nothing to resume.
 */
export function settledUnknownId(report: TaskReport): TaskReport {
  const { error, ledgerId, taskId } = report;
  if (ledgerId !== null || error === null) return report;
  const nothing = { ...report, state: "unknown", charged: "no" } as const;
  if (error.type === "usage")
    return error.charged === "unknown" ? { ...nothing, charged: "unknown" } : nothing;
  if (error.type !== "service_error" || error.key === null) return report;
  const what = error.key === NO_SUCH_TASK ? `The service does not know task ${taskId}.` : error.message;
  const hint = "Nothing was charged. To see the tasks of this machine: imggen history";
  return { ...nothing, error: new ServiceError(what, { key: error.key, hint, cause: error }) };
}

/** Refuses an empty id, most often a shell variable that is not set. @throws UsageError */
export function requireId(id: string): void {
  if (id.trim() !== "") return;
  const hint = "Nothing was sent. To see the tasks of this machine: imggen history";
  throw new UsageError("A task id is empty.", { hint });
}

/** Refuses a task that the ledger lacks where the provider gives no ids to ask by. @throws UsageError */
export function requirePolls(taskId: string, { connection }: Pick<TaskDeps, "connection">): void {
  const { provider, generator } = connection;
  if (provider.poll) return;
  throw new UsageError(
    `The ledger has no task ${taskId}, and ${generator?.name ?? "the service"} cannot be asked for it.`,
    {
      hint: "Nothing was sent. A task of imggen serve is asked for there. To see those of this machine: imggen history",
      charged: "unknown",
    },
  );
}

/** Whether a saved task's images are in these files alone: its provider gave no URL. */
function isOnlyHere(files: readonly SavedFile[]): boolean {
  return files.every(({ url }) => url === null);
}

/** Puts the images of a saved task under a further name: from its files if they are whole, else from the service. */
export async function copyOf(
  record: TaskRecord,
  { taskId, acceptedAt, files }: Extract<TaskState, { name: "saved" }>,
  destination: Extract<Destination, { kind: "file" }>,
  wait: WaitSettings | null,
  deps: TaskDeps,
): Promise<TaskReport> {
  const report = reportOf(record);
  const areHere = await areWhole(files);
  if (areHere && files[0]?.path === destination.path) return { ...report, isSavedBefore: true };
  if (!areHere && isOnlyHere(files)) return { ...report, error: notToBeHad(report, null) };
  const task = { ...earlierTask(taskId, acceptedAt, destination, { destination }), copies: files };
  const once = { timeoutMs: 0, schedule: null };
  const seen = areHere || record.intent.work ? seenAs(files) : null;
  const copied = withCharge(record, await finishTask(task, report, wait ?? once, deps, seen));
  const isGone = !areHere && copied.error !== null && GONE.has(copied.error.type);
  return isGone ? { ...copied, error: notToBeHad(report, copied.error) } : copied;
}

/** How the service says that it does not have a task's images any more. */
const GONE: ReadonlySet<ErrorType> = new Set(["save_failed", "service_error", "generation_failed"]);

const NO_URL = "Its provider gave no URL of it.";

function notToBeHad(
  { taskId, ledgerId, free, charged }: TaskReport,
  cause: ImggenError | null,
): SaveFailedError {
  const again = cause === null ? "" : `To try again: imggen resume ${ledgerId}\n`;
  return new SaveFailedError(
    `The image of task ${taskId} is no longer where it was saved, and could not be saved again. ${cause?.message ?? NO_URL}`,
    {
      hint: `${again}${toSubmitAgain(ledgerId, free)}`,
      charged,
      cause,
    },
  );
}
