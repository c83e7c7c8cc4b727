import { isoTime } from "../../lib/clock.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { CANCELLED, displayId, isUnknown, type Task } from "../../task/task.ts";
import { PendingError } from "../errors.ts";
import type { WaitSettings } from "../polling/wait.ts";
import type { TaskDeps, UseCaseDeps } from "./deps.ts";
import { acceptedJobs, askToStop, followJob } from "./follow-job.ts";
import type { HeldTask } from "./held.ts";
import { jobOf } from "./jobs.ts";
import { recoverRequest } from "./recover.ts";
import { recordReply } from "./reply-lines.ts";
import { factsOf, type TaskReport } from "./report.ts";
import { errorOf } from "./task-error.ts";
import { withinLimit } from "./time-limit.ts";

/** Result of a task that was to be cancelled. */
export interface CancelReport extends TaskReport {
  /** How many of its requests were ended now. */
  cancelled: number;
  /** How many requests it has. */
  requests: number;
}

/**
 * Ends what can be ended of a task that this process holds: what waits is not sent, what runs at a free provider is given up,
 * and what a provider has accepted it is asked to stop. What may have been paid for is never given up.
 * @param wait how what is paid and in flight is waited for; null: it is left
 */
export async function cancelHeld(
  held: HeldTask,
  wait: WaitSettings | null,
  warnings: readonly string[],
  deps: UseCaseDeps,
): Promise<CancelReport> {
  const before = held.task;
  let left: string | null = null;
  try {
    for (const line of deps.ledger.lostRequestLines(before)) await held.record(line);
    await endWaiting(held, deps);
    if (isInFlight(held.task)) left = await endInFlight(held, wait, deps);
    // What had never left after all waits again.
    await endWaiting(held, deps);
  } finally {
    await held.leave();
  }
  const counts = cancelledSince(before, held.task);
  const error = stillOpen(held, counts, left, deps);
  return { ...factsOf(held.task), warnings: [...warnings], error, ...counts };
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
  held: HeldTask,
  wait: WaitSettings | null,
  deps: UseCaseDeps,
): Promise<string | null> {
  const { intent } = held.task;
  let taskDeps: TaskDeps;
  try {
    taskDeps = await deps.depsFor(intent, displayId(held.task));
  } catch (error) {
    // What is free can be given up without asking its provider.
    if (intent.isPaid || acceptedJobs(held.task).length > 0) throw error;
    for (const [request, { state }] of held.task.requests.entries())
      if (state === "started") await recordGivenUp(held, request, deps);
    return null;
  }
  let left: string | null = null;
  for (const job of acceptedJobs(held.task)) left = (await askToStop(held, job, taskDeps)) ?? left;
  for (const [request, { state }] of held.task.requests.entries()) {
    if (state !== "started") continue;
    if (!intent.isPaid) await giveUp(held, request, taskDeps);
    else if (wait) await patiently(wait, taskDeps, (limited) => recoverRequest(held, request, limited));
    else left = "its request is on its way, and may be paid for";
  }
  if (wait)
    for (const job of acceptedJobs(held.task))
      await followJob(held, job, { ...wait, pollAtOnce: false }, taskDeps, undefined);
  return left;
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
async function giveUp(held: HeldTask, request: number, deps: TaskDeps): Promise<void> {
  const { connection, ledger } = deps;
  const attempt = held.task.requests[request]?.attempt?.name ?? "";
  const job = jobOf(held.task, request, attempt, ledger.work);
  const how = { signal: AbortSignal.abort(new Error(CANCELLED)), onProgress: () => {} };
  const reply = await connection.provider.recover?.(job, how);
  if (reply?.outcome === "made" || reply?.outcome === "accepted")
    await recordReply(held, { request, attempt, reply }, deps);
  else await recordGivenUp(held, request, deps);
  const accepted = acceptedJobs(held.task).find((each) => each.request === request);
  if (accepted) await askToStop(held, accepted, deps);
}

/** Ends the requests that wait, at no charge. */
async function endWaiting(held: HeldTask, { clock }: Pick<UseCaseDeps, "clock">): Promise<void> {
  for (const [request, { state }] of held.task.requests.entries())
    if (state === "waiting")
      await held.record({ type: "not_sent", at: isoTime(clock.now()), why: CANCELLED, request });
}

/** Records the end of a request that a free provider may still work on: what it makes is not waited for. */
async function recordGivenUp(
  held: HeldTask,
  request: number,
  { clock }: Pick<UseCaseDeps, "clock">,
): Promise<void> {
  const attempt = held.task.requests[request]?.attempt?.name ?? "";
  const of = { at: isoTime(clock.now()), request, attempt };
  await held.record({ type: "failed", ...of, errorCode: null, why: `${CANCELLED}.`, charged: "no" });
}

/** Why the task is not over; null if it is, or only its images are to be saved. */
function stillOpen(
  { task, charged }: HeldTask,
  counts: Counts,
  left: string | null,
  { signal }: UseCaseDeps,
): ImggenError | null {
  if (isInFlight(task)) {
    if (signal.aborted) return interruptedError(signal, charged);
    const why = left ?? "it is still at work";
    const id = displayId(task);
    return new PendingError(`Task ${id} ${wasCancelled(counts)}: ${why}.`, { charged });
  }
  return isUnknown(task) ? errorOf(task) : null;
}
