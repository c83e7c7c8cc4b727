import { isoTime } from "../../lib/clock.ts";
import { ImggenError } from "../../lib/error-types.ts";
import type { TaskDeps } from "../deps.ts";
import { interruptedError } from "../errors.ts";
import { saveImages } from "../images/save-images.ts";
import type { SaveResult, SaveSpec, SidecarFacts } from "../images/save-spec.ts";
import type { CompletionInterval } from "../polling/estimate.ts";
import type { EndedState } from "../polling/wait.ts";
import { elapsedMs, type TaskReport } from "./report.ts";
import type { TaskWriter } from "./task-writer.ts";

/** A task that exists at the service, and what is known about it. */
export interface AcceptedTask
  extends Pick<SaveSpec, "taskId" | "destination" | "saved" | "recovering">,
    Partial<Pick<SaveSpec, "copies">> {
  /** null for a task that the ledger does not hold. */
  writer: TaskWriter | null;
  /** When the service accepted it, milliseconds since the epoch; null if that is not known. */
  acceptedAtMs: number | null;
  /** Whether a file that is newer than the task is replaced under --overwrite: its place was asked for in this run. */
  replacesNewer?: boolean;
}

/** Saves the images of a completed task. */
export async function saveTask(
  task: AcceptedTask,
  seen: CompletionInterval & { task: Extract<EndedState, { status: "completed" }> },
  report: TaskReport,
  deps: TaskDeps,
): Promise<TaskReport> {
  // A task that was saved before, or whose saving failed, was completed then.
  const completedAt = report.completedAt ?? isoTime(deps.clock.now());
  const { urls, usage } = seen.task;
  const [seenMs, pendingMs] = [finiteMs(seen.seenMs), finiteMs(seen.pendingMs)];
  await task.writer?.write({
    type: "completed",
    at: completedAt,
    urls,
    seenMs,
    pendingMs,
    ...(usage && { usage }),
  });
  const completed: TaskReport = {
    ...report,
    completedAt,
    elapsedMs: elapsedMs(report.submittedAt, completedAt),
  };
  const result: SaveResult = { files: [], warnings: [] };
  const date = new Date(task.acceptedAtMs ?? deps.clock.now());
  const { taskId, destination, saved, copies = [], recovering } = task;
  const spec: SaveSpec = {
    taskId,
    destination,
    saved,
    copies,
    recovering,
    urls,
    request: report.request,
    facts: sidecarFacts(completed, taskId, deps),
    stem: report.ledgerId ?? `task-${taskId.replace(/[^A-Za-z0-9]/g, "").slice(-32)}`,
    date,
    keepsSinceMs: task.replacesNewer ? Number.POSITIVE_INFINITY : date.getTime(),
    owned: task.writer !== null,
  };
  let failure: unknown = null;
  try {
    await saveImages(spec, result, deps);
  } catch (error) {
    failure = error;
  }
  const files = result.files.filter((file) => file !== null);
  const warnings = [...completed.warnings, ...result.warnings];
  if (failure === null) return recordSaved(task, { ...completed, files, warnings }, deps);
  await recordPart(task, result, deps);
  const charged = deps.connection.generator?.isPaid === false ? "no" : "yes";
  const expected = deps.signal.aborted ? interruptedError(deps.signal, charged) : failure;
  if (!(expected instanceof ImggenError)) throw expected;
  return { ...completed, charged, files, warnings, error: expected };
}

function sidecarFacts(report: TaskReport, taskId: string, { connection }: TaskDeps): SidecarFacts | null {
  const { request, credits, submittedAt, completedAt, usage } = report;
  const service = connection.identity.baseUrl;
  const facts = { taskId, service, credits, submittedAt, completedAt, ...(usage && { usage }) };
  return request && { ...facts, request };
}

/** Records the images saved so far: they need not be downloaded again, and their URLs may have expired by then. */
async function recordPart(task: AcceptedTask, { files }: SaveResult, deps: TaskDeps): Promise<void> {
  const isNew = files.some((file, at) => file !== null && file !== task.saved[at]);
  if (isNew) await task.writer?.write({ type: "partly_saved", at: isoTime(deps.clock.now()), files });
  await task.writer?.release();
}

async function recordSaved(task: AcceptedTask, report: TaskReport, deps: TaskDeps): Promise<TaskReport> {
  await task.writer?.write({ type: "saved", at: isoTime(deps.clock.now()), files: report.files });
  await task.writer?.finish();
  return { ...report, state: "saved" };
}

/** Whole milliseconds for the record; null if the task's age was not known. */
function finiteMs(ms: number | null): number | null {
  return ms !== null && Number.isFinite(ms) ? Math.round(ms) : null;
}
