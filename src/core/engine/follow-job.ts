import { AuthRequiredError, NetworkError, ServiceError } from "../../api/api-errors.ts";
import { describeConnectionError } from "../../api/connection-errors.ts";
import { isoTime } from "../../lib/clock.ts";
import type { Charged, ImggenError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import type { FailedPoll } from "../../providers/provider.ts";
import { storeResult } from "../../providers/stored-reply.ts";
import { StateFolderError } from "../../store/store-errors.ts";
import {
  CANCELLED,
  displayId,
  getAnswer,
  getCharged,
  type RequestState,
  type Task,
} from "../../task/task.ts";
import { PendingError } from "../errors.ts";
import { POLICY } from "../limits/policy.ts";
import { fixedSchedule } from "../polling/fixed-schedules.ts";
import {
  type EndedState,
  goneReason,
  type ProgressDeps,
  type WaitResult,
  type WaitSettings,
  type WaitSpec,
  waitForTask,
} from "../polling/wait.ts";
import type { ClaimedTask } from "./claimed-task.ts";
import { providerName, type TaskDeps } from "./deps.ts";
import type { ProgressFacts } from "./events.ts";
import { createJob } from "./jobs.ts";
import { createEndLine } from "./reply-lines.ts";
import { timeLimitError } from "./send.ts";
import { noLongerKnownError } from "./task-error.ts";
import { withinLimit } from "./time-limit.ts";

export interface AcceptedJob {
  /** Index of the request in its task, from 0. */
  request: number;
  attempt: string;
  id: string;
  /** Milliseconds since the epoch. */
  acceptedMs: number;
  /** Whether a poll found that the provider no longer has the job. */
  isGone: boolean;
}

export function acceptedJobs(task: Pick<Task, "requests">): AcceptedJob[] {
  return knownJobs(task).filter(({ request }) => task.requests[request]?.state === "accepted");
}

/** Returns all jobs of a task, including ended jobs. */
export function knownJobs({ requests }: Pick<Task, "requests">): AcceptedJob[] {
  return requests.flatMap(({ attempt, state }, request) => {
    // If a request with a job waits again, its provider has lost the job.
    if (attempt?.accepted == null || state === "waiting") return [];
    const { id, at } = attempt.accepted;
    const isGone = attempt.goneReason !== null;
    return [{ request, attempt: attempt.name, id, acceptedMs: Date.parse(at), isGone }];
  });
}

/** Returns the jobs to poll for a continued task: running jobs, and completed jobs whose URLs might have expired. */
export function openJobs(task: Pick<Task, "requests" | "state">): AcceptedJob[] {
  if (task.state === "saved") return [];
  return knownJobs(task).filter(({ request }) => {
    const state = task.requests[request];
    return state?.state === "accepted" || (state !== undefined && hasUrls(state));
  });
}

export function hasUrls(request: RequestState): boolean {
  return (getAnswer(request, "completed")?.urls.length ?? 0) > 0;
}

export interface FollowSpec extends WaitSettings, Pick<WaitSpec, "keepsReply"> {
  /** Whether to poll at once, for a job that might have ended long ago. */
  pollAtOnce: boolean;
  /** Whether to submit a free request again if the provider has lost its job. */
  resubmits?: boolean;
  onWarning?: (message: string) => void;
}

/** Waits for a job and reports the progress. Records nothing in the ledger. */
export async function waitForJob(
  task: Pick<Task, "id" | "intent" | "requests">,
  job: AcceptedJob,
  { timeoutMs, schedule, pollAtOnce, keepsReply }: FollowSpec,
  deps: TaskDeps,
): Promise<WaitResult> {
  const { request, requestMs, taskId: ownId } = task.intent;
  // Events contain imggen's id of the task if there is one, because the provider's id can be a whole URL.
  const taskId = ownId ?? job.id;
  const usualMs = schedule ? null : await deps.schedules.getUsualMs(request);
  deps.onProgress({ type: "waiting", taskId, usualMs });
  const onProgress: TaskDeps["onProgress"] = (event) =>
    deps.onProgress("taskId" in event ? { ...event, taskId } : event);
  const spec = {
    schedule: schedule ?? (await deps.schedules.forRequest(request)),
    timeoutMs: timeoutMs ?? requestMs,
    ageMs: deps.clock.now() - job.acceptedMs,
    pollAtOnce,
    isGone: job.isGone,
    job: createJob(task, job.request, job.attempt, deps.ledger.work),
    keepsReply,
  };
  return withProgress(job, { ...deps, onProgress }, (followed) => waitForTask(job.id, spec, followed));
}

/** Runs `work`, and reports the progress that the provider pushes meanwhile. */
async function withProgress<Result>(
  { id, request }: AcceptedJob,
  deps: TaskDeps,
  work: (deps: TaskDeps & Required<ProgressDeps>) => Promise<Result>,
): Promise<Result> {
  const { provider, serviceUrl } = deps.connection;
  const workEnd = new AbortController();
  const signal = AbortSignal.any([deps.signal, workEnd.signal]);
  const reportProgress = (facts: ProgressFacts) =>
    deps.onProgress({ type: "progress", taskId: id, request, ...facts });
  const onAhead = (ahead: number) =>
    reportProgress({ share: null, waiting: { ahead, holder: serviceUrl.host } });
  const onProgress = (share: number) => reportProgress({ share, waiting: null });
  const following = provider.follow?.(id, { signal, onProgress, onPreview: deps.onPreview });
  const jobEnd = new Promise<void>((resolve) => {
    void following?.then((hasEnded) => hasEnded && resolve());
  });
  try {
    return await work({ ...deps, onAhead, onShare: onProgress, jobEnd });
  } finally {
    workEnd.abort();
    await following;
  }
}

/**
 * Waits for a job of a claimed task and records the result. Cancels the job if the user cancels the task.
 * @param seen result of an earlier wait, used instead of a new wait
 * @returns the error that ended the wait before the job ended, or null
 */
export async function followJob(
  claimedTask: ClaimedTask,
  job: AcceptedJob,
  spec: FollowSpec,
  deps: TaskDeps,
  seen: WaitResult | undefined,
): Promise<ImggenError | null> {
  if (seen !== undefined) return recordWait(claimedTask, job, seen, deps, spec);
  const removeFromList = makeStoppable(claimedTask, job, deps);
  const jobEnded = deps.gate.jobBegan();
  const cancelled = new AbortController();
  const stopWatching = claimedTask.onCancel(() => cancelled.abort());
  const waitWith = (signal: AbortSignal) =>
    waitForJob(claimedTask.task, job, { ...spec, keepsReply: true }, { ...deps, signal });
  try {
    const result = await waitWith(AbortSignal.any([deps.signal, cancelled.signal]));
    const isCancelRequested =
      cancelled.signal.aborted && result.outcome === "interrupted" && !deps.signal.aborted;
    if (isCancelRequested && (await cancelJob(claimedTask, job, deps)) === null) {
      removeFromList();
      return null;
    }
    const waitResult = isCancelRequested ? await waitWith(deps.signal) : result;
    // After a signal the job stays in the list, so that a second signal can cancel it at a free provider.
    if (waitResult.outcome !== "interrupted") removeFromList();
    return await recordWait(claimedTask, job, waitResult, deps, spec);
  } finally {
    jobEnded();
    stopWatching();
  }
}

/** Adds a free job, never a paid one, to the jobs that a second signal cancels. @returns a function that removes it */
function makeStoppable(
  claimedTask: ClaimedTask,
  job: AcceptedJob,
  { stoppable, connection }: TaskDeps,
): () => void {
  if (claimedTask.task.intent.isPaid || !stoppable) return () => {};
  const task = { taskId: displayId(claimedTask.task), name: providerName(connection) };
  return stoppable.add(task, job.id, connection.provider);
}

async function recordWait(
  claimedTask: ClaimedTask,
  job: AcceptedJob,
  waitResult: WaitResult,
  deps: TaskDeps,
  { onWarning = () => {}, resubmits = false }: Partial<FollowSpec> = {},
): Promise<ImggenError | null> {
  switch (waitResult.outcome) {
    case "ended": {
      const { task } = waitResult;
      if (task.status === "completed") for (const warning of task.warnings ?? []) onWarning(warning);
      if (claimedTask.isLost) return claimedTask.takenOverError();
      const storeError = await storeReply(claimedTask, job, task, deps);
      if (storeError !== null) return storeError;
      await claimedTask.record(createEndLine(task, job, isoTime(deps.clock.now()), waitResult));
      if (task.status === "completed")
        await deps.schedules.learn(claimedTask.task.intent.request, waitResult);
      return null;
    }
    case "refused": {
      const why = goneReason(waitResult);
      if (why !== null) await recordGone(claimedTask, job.request, why, deps);
      return waitResult.error;
    }
    case "gone": {
      const { why } = waitResult.lastFailure;
      if (!isLostJob(claimedTask.task, waitResult)) await recordGone(claimedTask, job.request, why, deps);
      else if (resubmits) return recordLost(claimedTask, job, waitResult.lastFailure, deps);
      // A lost job is not an error if its request is completed, because the recorded URLs might still work.
      return claimedTask.task.requests[job.request]?.state === "completed"
        ? null
        : noLongerKnownError(claimedTask.task, why);
    }
    case "interrupted":
      return interruptedError(deps.signal, claimedTask.charged);
    case "timeout":
      return stillRunningError(claimedTask.task, waitResult.lastFailure?.why ?? null);
  }
}

/** Records once that a job or its images no longer exist, because the file would grow if every `resume` recorded it. */
export async function recordGone(
  claimedTask: ClaimedTask,
  request: number,
  why: string,
  { clock }: Pick<TaskDeps, "clock">,
): Promise<void> {
  const attempt = claimedTask.task.requests[request]?.attempt;
  if (attempt == null || attempt.goneReason !== null) return;
  await claimedTask.record({ type: "gone", at: isoTime(clock.now()), why, request, attempt: attempt.name });
}

export function isLostJob(
  { intent }: Pick<Task, "intent">,
  waitResult: WaitResult,
): waitResult is WaitResult & { outcome: "gone" } {
  return !intent.isPaid && waitResult.outcome === "gone";
}

/** Records that a free provider has lost a job. The request is submitted again, or fails after too many attempts. */
async function recordLost(
  claimedTask: ClaimedTask,
  { request, attempt }: AcceptedJob,
  { why }: FailedPoll,
  { clock, onProgress }: TaskDeps,
): Promise<ImggenError | null> {
  if (claimedTask.isLost) return claimedTask.takenOverError();
  const ids = { at: isoTime(clock.now()), request, attempt };
  const tries = (claimedTask.task.requests[request]?.possibleSubmits ?? 0) + 1;
  if (tries < POLICY.submit.lost.attempts) {
    await claimedTask.record({ type: "unknown", ...ids, why, unusable: true });
    onProgress({ type: "submit_retry", why: `${why}.`, isLost: true, delayMs: 0 });
  } else await claimedTask.record({ type: "failed", ...ids, errorCode: null, why: `${why}.`, charged: "no" });
  return null;
}

/** Stores the reply of a completed job before the completion is recorded, so that a crash cannot lose the images. */
async function storeReply(
  { task: { id }, charged }: ClaimedTask,
  { request, attempt }: AcceptedJob,
  end: EndedState,
  { ledger: { work } }: TaskDeps,
): Promise<ImggenError | null> {
  if (end.status !== "completed" || end.reply === undefined) return null;
  try {
    await storeResult({ folder: work.attemptFolder(id, request, attempt) }, end.reply);
    return null;
  } catch (error) {
    return new StateFolderError(work.folder, error, { charged });
  }
}

export function stillRunningError(task: Task, why: string | null): PendingError {
  const state = why === null ? "is still running" : `may still run: ${why}`;
  return new PendingError(`Task ${displayId(task)} ${state}.`, { charged: getCharged(task) });
}

export function pollError({ connectionError, why }: FailedPoll, charged: Charged, service: URL): ImggenError {
  if (connectionError === null)
    return new ServiceError(`The service sent no usable reply: ${why}.`, { charged });
  const advice = "The task itself is not affected. Check the network and try again.";
  const { message, hint } = describeConnectionError(connectionError, service, advice);
  return new NetworkError(message, { hint, charged, cause: connectionError });
}

const CANCEL_REPLY_TIMEOUT_MS = 10_000;
/** Maximum wait for a cancelled job to end, in milliseconds. */
const CANCEL_TIMEOUT_MS = 10_000;
const CANCEL_POLL_INTERVAL_MS = 500;

/**
 * Cancels an accepted request. A paid request counts as not charged only if the provider reports no charge.
 * @returns null if the job has ended, a clause why it continues, or the error for a refused or missing API key
 */
export async function cancelJob(
  claimedTask: ClaimedTask,
  job: AcceptedJob,
  deps: TaskDeps,
): Promise<string | AuthRequiredError | null> {
  const { provider } = deps.connection;
  const name = providerName(deps.connection);
  if (!provider.cancel) return `${name} has accepted it, and does not support cancelling`;
  const answer = await withinLimit(
    CANCEL_REPLY_TIMEOUT_MS,
    timeLimitError(CANCEL_REPLY_TIMEOUT_MS),
    deps,
    async (limitedSignal) => provider.cancel?.(job.id, limitedSignal),
  ).catch((error: unknown) => {
    if (error instanceof AuthRequiredError) return error;
    throw error;
  });
  if (answer instanceof AuthRequiredError) return answer;
  if (answer === null) return `${name} did not reply to the cancel request`;
  return answer ? recordCancelled(claimedTask, job, name, deps) : `${name} did not cancel it`;
}

/** Polls a cancelled job until it ends, because the job can complete despite the cancel. */
async function recordCancelled(
  claimedTask: ClaimedTask,
  job: AcceptedJob,
  name: string,
  deps: TaskDeps,
): Promise<string | null> {
  const schedule = fixedSchedule(CANCEL_POLL_INTERVAL_MS);
  const waitResult = await waitForTask(
    job.id,
    {
      schedule,
      timeoutMs: CANCEL_TIMEOUT_MS,
      ageMs: Number.POSITIVE_INFINITY,
      pollAtOnce: true,
      job: createJob(claimedTask.task, job.request, job.attempt, deps.ledger.work),
      keepsReply: true,
    },
    deps,
  );
  const noCharge = claimedTask.task.intent.isPaid ? {} : { charged: "no" as const };
  const cancelFacts = { errorCode: null, why: `${CANCELLED}.`, ...noCharge };
  if (waitResult.outcome === "ended") {
    const { task } = waitResult;
    const stoppedTask = task.status === "failed" ? { ...task, ...cancelFacts } : task;
    return (await recordWait(claimedTask, job, { ...waitResult, task: stoppedTask }, deps))?.message ?? null;
  }
  return `${name} has not confirmed yet that it was cancelled`;
}
