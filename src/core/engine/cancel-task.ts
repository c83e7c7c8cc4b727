import { isoTime } from "../../lib/clock.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { CANCELLED, displayId, isUnknown, type Task } from "../../task/task.ts";
import { PendingError } from "../errors.ts";
import type { WaitSettings } from "../polling/wait.ts";
import type { ClaimedTask } from "./claimed-task.ts";
import type { TaskDeps, UseCaseDeps } from "./deps.ts";
import { acceptedJobs, cancelJob, followJob } from "./follow-job.ts";
import { createJob } from "./jobs.ts";
import { recoverRequest } from "./recover.ts";
import { recordReply } from "./reply-lines.ts";
import { type TaskReport, taskFacts } from "./report.ts";
import { taskError } from "./task-error.ts";
import { withinLimit } from "./time-limit.ts";

export interface CancelReport extends TaskReport {
  /** Number of requests that this command cancelled. */
  cancelled: number;
  requests: number;
}

/** Cancels a claimed task as far as possible, but never abandons a request that might have been charged. */
export async function cancelClaimed(
  claimedTask: ClaimedTask,
  wait: WaitSettings | null,
  warnings: readonly string[],
  deps: UseCaseDeps,
): Promise<CancelReport> {
  const original = claimedTask.task;
  let problem: string | null = null;
  try {
    for (const line of deps.ledger.lostReplyLines(original)) await claimedTask.record(line);
    await endWaiting(claimedTask, deps);
    if (isInFlight(claimedTask.task)) problem = await endInFlight(claimedTask, wait, deps);
    // Repeated, because a request in flight can turn out not to have been sent.
    await endWaiting(claimedTask, deps);
  } finally {
    await claimedTask.release();
  }
  const counts = countCancelled(original, claimedTask.task);
  const error = notEndedError(claimedTask, counts, problem, deps);
  return { ...taskFacts(claimedTask.task), warnings: [...warnings], error, ...counts };
}

type Counts = Pick<CancelReport, "cancelled" | "requests">;

/** Describes, as a clause, how much of an unfinished task was cancelled. */
export function cancelClause({ cancelled, requests }: Counts): string {
  return cancelled === 0
    ? "was not cancelled"
    : `was cancelled in part (${cancelled} of ${requests} requests)`;
}

export function countCancelled(original: Task, { requests }: Task): Counts {
  const cancelled = requests.filter(
    ({ state }, at) => state === "cancelled" && state !== original.requests[at]?.state,
  );
  return { cancelled: cancelled.length, requests: requests.length };
}

/** Whether a process with the claim can cancel any request of the task. */
export function canBeCancelled({ requests, intent }: Task): boolean {
  return requests.some(
    ({ state }) => state === "waiting" || state === "accepted" || (state === "started" && !intent.isPaid),
  );
}

function isInFlight({ requests }: Task): boolean {
  return requests.some(({ state }) => state === "started" || state === "accepted");
}

async function endInFlight(
  claimedTask: ClaimedTask,
  wait: WaitSettings | null,
  deps: UseCaseDeps,
): Promise<string | null> {
  const { intent } = claimedTask.task;
  let taskDeps: TaskDeps;
  try {
    taskDeps = await deps.depsFor(intent, displayId(claimedTask.task));
  } catch (error) {
    // A free request can be abandoned without contact to its provider.
    if (intent.isPaid || acceptedJobs(claimedTask.task).length > 0) throw error;
    for (const [request, { state }] of claimedTask.task.requests.entries())
      if (state === "started") await recordAbandoned(claimedTask, request, deps);
    return null;
  }
  let problem: string | null = null;
  for (const job of acceptedJobs(claimedTask.task)) {
    const refusal = await cancelJob(claimedTask, job, taskDeps);
    // An API key that is refused for one job would be refused for the other jobs too.
    if (refusal instanceof Error) throw refusal;
    problem = refusal ?? problem;
  }
  for (const [request, { state }] of claimedTask.task.requests.entries()) {
    if (state !== "started") continue;
    if (!intent.isPaid) await abandonRequest(claimedTask, request, taskDeps);
    else if (wait)
      await workWithinWait(wait, taskDeps, (limitedDeps) =>
        recoverRequest(claimedTask, request, limitedDeps),
      );
    else problem = "its request is in flight, and may be charged";
  }
  if (wait)
    for (const job of acceptedJobs(claimedTask.task))
      await followJob(claimedTask, job, { ...wait, pollAtOnce: false }, taskDeps, undefined);
  return problem;
}

/** Runs `work` with a signal that aborts when the wait times out. The abort does not end the request itself. */
async function workWithinWait(
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

/** Abandons a free request whose process has ended. If a reply has already arrived, the reply is recorded instead. */
async function abandonRequest(claimedTask: ClaimedTask, request: number, deps: TaskDeps): Promise<void> {
  const { connection, ledger } = deps;
  const attempt = claimedTask.task.requests[request]?.attempt?.name ?? "";
  const job = createJob(claimedTask.task, request, attempt, ledger.work);
  const recoverOptions = { signal: AbortSignal.abort(new Error(CANCELLED)), onProgress: () => {} };
  const reply = await connection.provider.recover?.(job, recoverOptions);
  if (reply?.outcome === "made" || reply?.outcome === "accepted")
    await recordReply(claimedTask, { request, attempt, reply }, deps);
  else await recordAbandoned(claimedTask, request, deps);
  const accepted = acceptedJobs(claimedTask.task).find((each) => each.request === request);
  if (accepted) await cancelJob(claimedTask, accepted, deps);
}

async function endWaiting(claimedTask: ClaimedTask, { clock }: Pick<UseCaseDeps, "clock">): Promise<void> {
  for (const [request, { state }] of claimedTask.task.requests.entries())
    if (state === "waiting")
      await claimedTask.record({ type: "not_sent", at: isoTime(clock.now()), why: CANCELLED, request });
}

/** The provider might still work on an abandoned request, but imggen does not wait for the reply. */
async function recordAbandoned(
  claimedTask: ClaimedTask,
  request: number,
  { clock }: Pick<UseCaseDeps, "clock">,
): Promise<void> {
  const attempt = claimedTask.task.requests[request]?.attempt?.name ?? "";
  const ids = { at: isoTime(clock.now()), request, attempt };
  await claimedTask.record({ type: "failed", ...ids, errorCode: null, why: `${CANCELLED}.`, charged: "no" });
}

/** Returns an error if a request of the task is in flight or has an unknown outcome, otherwise null. */
function notEndedError(
  { task, charged }: ClaimedTask,
  counts: Counts,
  problem: string | null,
  { signal }: UseCaseDeps,
): ImggenError | null {
  if (isInFlight(task)) {
    if (signal.aborted) return interruptedError(signal, charged);
    const why = problem ?? "it is still running";
    const id = displayId(task);
    return new PendingError(`Task ${id} ${cancelClause(counts)}: ${why}.`, { charged });
  }
  return isUnknown(task) ? taskError(task) : null;
}
