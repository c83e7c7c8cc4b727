import { isoTime } from "../../lib/clock.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { CANCELLED, displayId, isUnknown, type Task } from "../../task/task.ts";
import { PendingError } from "../errors.ts";
import type { WaitSettings } from "../polling/wait.ts";
import type { TaskDeps, UseCaseDeps } from "./deps.ts";
import { acceptedJobs, askToStop, followJob } from "./follow-job.ts";
import type { HeldTask } from "./held.ts";
import { createJob } from "./jobs.ts";
import { recoverRequest } from "./recover.ts";
import { recordReply } from "./reply-lines.ts";
import { type TaskReport, taskFacts } from "./report.ts";
import { taskError } from "./task-error.ts";
import { withinLimit } from "./time-limit.ts";

/** Result of a task that was to be cancelled. */
export interface CancelReport extends TaskReport {
  /** Number of its requests that were ended now. */
  cancelled: number;
  /** Number of its requests. */
  requests: number;
}

/**
 * Ends what can be ended of a task that this process holds: what waits is not sent, what runs at a free provider is given up,
 * and what a provider has accepted it is asked to stop. What may have been paid for is never given up.
 * @param wait how what is paid and in flight is waited for; null: it is left
 */
export async function cancelHeld(
  heldTask: HeldTask,
  wait: WaitSettings | null,
  warnings: readonly string[],
  deps: UseCaseDeps,
): Promise<CancelReport> {
  const before = heldTask.task;
  let problem: string | null = null;
  try {
    for (const line of deps.ledger.lostReplyLines(before)) await heldTask.record(line);
    await endWaiting(heldTask, deps);
    if (isInFlight(heldTask.task)) problem = await endInFlight(heldTask, wait, deps);
    // A request that was not sent after all waits again.
    await endWaiting(heldTask, deps);
  } finally {
    await heldTask.leave();
  }
  const counts = cancelledSince(before, heldTask.task);
  const error = stillOpen(heldTask, counts, problem, deps);
  return { ...taskFacts(heldTask.task), warnings: [...warnings], error, ...counts };
}

type Counts = Pick<CancelReport, "cancelled" | "requests">;

/** Action taken on a task that has not ended. */
export function wasCancelled({ cancelled, requests }: Counts): string {
  return cancelled === 0
    ? "was not cancelled"
    : `was cancelled in part (${cancelled} of ${requests} requests)`;
}

/** Number of a task's requests that were ended since it was read. */
export function cancelledSince(before: Task, { requests }: Task): Counts {
  const cancelled = requests.filter(
    ({ state }, at) => state === "cancelled" && state !== before.requests[at]?.state,
  );
  return { cancelled: cancelled.length, requests: requests.length };
}

/** Whether the process that has a task can end any of its requests when the user cancels it. */
export function canBeEnded({ requests, intent }: Task): boolean {
  return requests.some(
    ({ state }) => state === "waiting" || state === "accepted" || (state === "started" && !intent.isPaid),
  );
}

function isInFlight({ requests }: Task): boolean {
  return requests.some(({ state }) => state === "started" || state === "accepted");
}

/** @returns why what is in flight goes on; null if nothing does */
async function endInFlight(
  heldTask: HeldTask,
  wait: WaitSettings | null,
  deps: UseCaseDeps,
): Promise<string | null> {
  const { intent } = heldTask.task;
  let taskDeps: TaskDeps;
  try {
    taskDeps = await deps.depsFor(intent, displayId(heldTask.task));
  } catch (error) {
    // A free request can be given up without asking its provider.
    if (intent.isPaid || acceptedJobs(heldTask.task).length > 0) throw error;
    for (const [request, { state }] of heldTask.task.requests.entries())
      if (state === "started") await recordGivenUp(heldTask, request, deps);
    return null;
  }
  let problem: string | null = null;
  for (const job of acceptedJobs(heldTask.task)) {
    const goesOn = await askToStop(heldTask, job, taskDeps);
    // The provider would say the same of the others.
    if (goesOn instanceof Error) throw goesOn;
    problem = goesOn ?? problem;
  }
  for (const [request, { state }] of heldTask.task.requests.entries()) {
    if (state !== "started") continue;
    if (!intent.isPaid) await giveUp(heldTask, request, taskDeps);
    else if (wait) await patiently(wait, taskDeps, (limited) => recoverRequest(heldTask, request, limited));
    else problem = "its request is in flight, and may be charged";
  }
  if (wait)
    for (const job of acceptedJobs(heldTask.task))
      await followJob(heldTask, job, { ...wait, pollAtOnce: false }, taskDeps, undefined);
  return problem;
}

/** Does work under a signal that aborts when the wait is over. Unlike a time limit, that ends no request. */
async function patiently(
  { timeoutMs }: WaitSettings,
  deps: TaskDeps,
  work: (deps: TaskDeps) => Promise<unknown>,
): Promise<void> {
  if (timeoutMs === null) await work(deps);
  else
    await withinLimit(timeoutMs, new Error("not waited for any longer"), deps, (signal) =>
      work({ ...deps, signal }),
    );
}

/** Ends a request whose process ended while a free provider worked on it. An image that has arrived is kept. */
async function giveUp(heldTask: HeldTask, request: number, deps: TaskDeps): Promise<void> {
  const { connection, ledger } = deps;
  const attempt = heldTask.task.requests[request]?.attempt?.name ?? "";
  const job = createJob(heldTask.task, request, attempt, ledger.work);
  const how = { signal: AbortSignal.abort(new Error(CANCELLED)), onProgress: () => {} };
  const reply = await connection.provider.recover?.(job, how);
  if (reply?.outcome === "made" || reply?.outcome === "accepted")
    await recordReply(heldTask, { request, attempt, reply }, deps);
  else await recordGivenUp(heldTask, request, deps);
  const accepted = acceptedJobs(heldTask.task).find((each) => each.request === request);
  if (accepted) await askToStop(heldTask, accepted, deps);
}

/** Ends the requests that wait, at no charge. */
async function endWaiting(heldTask: HeldTask, { clock }: Pick<UseCaseDeps, "clock">): Promise<void> {
  for (const [request, { state }] of heldTask.task.requests.entries())
    if (state === "waiting")
      await heldTask.record({ type: "not_sent", at: isoTime(clock.now()), why: CANCELLED, request });
}

/** Records the end of a request that a free provider may still work on: what it makes is not waited for. */
async function recordGivenUp(
  heldTask: HeldTask,
  request: number,
  { clock }: Pick<UseCaseDeps, "clock">,
): Promise<void> {
  const attempt = heldTask.task.requests[request]?.attempt?.name ?? "";
  const of = { at: isoTime(clock.now()), request, attempt };
  await heldTask.record({ type: "failed", ...of, errorCode: null, why: `${CANCELLED}.`, charged: "no" });
}

/** Reason why the task has not ended; null if it has, or only its images are to be saved. */
function stillOpen(
  { task, charged }: HeldTask,
  counts: Counts,
  problem: string | null,
  { signal }: UseCaseDeps,
): ImggenError | null {
  if (isInFlight(task)) {
    if (signal.aborted) return interruptedError(signal, charged);
    const why = problem ?? "it is still at work";
    const id = displayId(task);
    return new PendingError(`Task ${id} ${wasCancelled(counts)}: ${why}.`, { charged });
  }
  return isUnknown(task) ? taskError(task) : null;
}
