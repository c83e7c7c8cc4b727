import type { ImggenError } from "../../lib/error-types.ts";
import type { OwnedTask } from "../../store/owners.ts";
import { isPaid } from "../../task/intent.ts";
import { isUnknown, type Task, workOf } from "../../task/task.ts";
import type { TaskDeps, UseCaseDeps } from "./deps.ts";
import { interruptedError, PendingError } from "./errors.ts";
import type { WaitSettings } from "../polling/wait.ts";
import { awaitAccepted } from "../task/accepted.ts";
import { askToStop } from "./ask-to-stop.ts";
import { jobOf } from "./jobs.ts";
import { endWaiting, recordGivenUp } from "../task/obey-cancel.ts";
import { recordEnd } from "../task/record-end.ts";
import { recoverRequest } from "../task/recover-request.ts";
import { factsOf, type TaskReport } from "./report.ts";
import { CANCELLED, errorOf } from "./task-error.ts";
import { TaskWriter } from "../task/task-writer.ts";
import { abortedAfter } from "./time-limit.ts";

/** What became of a task that was to be cancelled. */
export interface CancelReport extends TaskReport {
  /** How many of its requests were ended now. */
  cancelled: number;
  /** How many requests it has. */
  requests: number;
}

/**
 * Ends what can be ended of a task that this process owns: what waits is not sent, what runs at a free provider is given
 * up, and what a provider has accepted it is asked to stop. What may have been paid for is never given up.
 * @param wait how what is paid and on its way is waited for; null: it is left
 */
export async function cancelOwned(
  owned: OwnedTask,
  wait: WaitSettings | null,
  deps: UseCaseDeps,
): Promise<CancelReport> {
  const warnings: string[] = [];
  const writer = new TaskWriter(deps.ledger, owned, (message) => warnings.push(message));
  const before = owned.record;
  let left: string | null = null;
  try {
    for (const line of deps.ledger.linesOfLost(before)) await writer.write(line);
    await endWaiting(writer, deps);
    if (isUnderWay(writer.record)) left = await endUnderWay(writer, wait, deps);
    // What had never left after all waits again.
    await endWaiting(writer, deps);
  } finally {
    await writer.leave();
  }
  const counts = cancelledSince(before, writer.record);
  const error = stillOpen(writer, counts, left, deps);
  return { ...factsOf(writer.record), warnings, error, ...counts };
}

type Counts = Pick<CancelReport, "cancelled" | "requests">;

/** What was done about a task that is not over yet. */
export function wasCancelled({ cancelled, requests }: Counts): string {
  return cancelled === 0
    ? "was not cancelled"
    : `was cancelled in part (${cancelled} of ${requests} requests)`;
}

/** How many of a task's requests were ended since it was read. */
export function cancelledSince(before: Task, { requests }: Task): Counts {
  const cancelled = requests.filter((state, at) => {
    const isOver = state.name === "not_sent" || state.name === "failed";
    return isOver && state.name !== before.requests[at]?.name;
  });
  return { cancelled: cancelled.length, requests: requests.length };
}

function isUnderWay({ requests }: Task): boolean {
  return requests.some(({ name }) => name === "started" || name === "accepted");
}

/** @returns why what is under way goes on; null where nothing does */
async function endUnderWay(
  writer: TaskWriter,
  wait: WaitSettings | null,
  deps: UseCaseDeps,
): Promise<string | null> {
  const { intent } = writer.record;
  let taskDeps: TaskDeps;
  try {
    taskDeps = await deps.depsFor(intent, workOf(writer.record).taskId);
  } catch (error) {
    // What is free can be given up without asking its provider.
    if (isPaid(intent) || hasAccepted(writer.record)) throw error;
    for (const [index, { name }] of writer.record.requests.entries())
      if (name === "started") await recordGivenUp(writer, index, deps);
    return null;
  }
  let left: string | null = null;
  for (const [index, { name }] of writer.record.requests.entries()) {
    if (name === "accepted") left = (await askToStop(writer, index, taskDeps)) ?? left;
    if (name !== "started") continue;
    if (!isPaid(intent)) await giveUp(writer, index, taskDeps);
    else if (wait) await patiently(wait, taskDeps, (limited) => recoverRequest(writer, index, limited));
    else left = "its request is on its way, and may be paid for";
  }
  if (wait && hasAccepted(writer.record)) await awaitAccepted(writer, wait, taskDeps);
  return left;
}

/** Does work under a signal that aborts when the wait is over. Unlike a time limit, that ends no request. */
function patiently(
  { timeoutMs }: WaitSettings,
  deps: TaskDeps,
  work: (deps: TaskDeps) => Promise<unknown>,
): Promise<unknown> {
  if (timeoutMs === null) return work(deps);
  const reason = new Error("not waited for any longer");
  return abortedAfter(timeoutMs, reason, deps, (signal) => work({ ...deps, signal }));
}

function hasAccepted({ requests }: Task): boolean {
  return requests.some(({ name }) => name === "accepted");
}

/** Ends a request whose process ended while a free provider worked on it. An image that has arrived is kept. */
async function giveUp(writer: TaskWriter, index: number, deps: TaskDeps): Promise<void> {
  const { connection, ledger } = deps;
  const job = jobOf(writer.record, index, ledger.work);
  const how = { signal: AbortSignal.abort(new Error(CANCELLED)), onProgress: () => {} };
  const reply = await connection.provider.recover?.(job, how);
  if (reply?.outcome === "made" || reply?.outcome === "accepted") await recordEnd(writer, index, reply, deps);
  else await recordGivenUp(writer, index, deps);
  if (reply?.outcome === "accepted") await askToStop(writer, index, deps);
}

/** Why the task is not over; null where it is, or only its images are to be saved. */
function stillOpen(
  { record, charged }: TaskWriter,
  counts: Counts,
  left: string | null,
  { signal }: UseCaseDeps,
): ImggenError | null {
  if (isUnderWay(record)) {
    if (signal.aborted) return interruptedError(signal, charged);
    const why = left ?? "it is still at work";
    const id = workOf(record).taskId;
    return new PendingError(`Task ${id} ${wasCancelled(counts)}: ${why}.`, { charged });
  }
  return isUnknown(record) ? errorOf(record) : null;
}
