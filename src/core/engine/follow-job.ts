import { AuthRequiredError, NetworkError, ServiceError } from "../../api/api-errors.ts";
import { describeConnectionError } from "../../api/connection-errors.ts";
import { isoTime } from "../../lib/clock.ts";
import type { Charged, ImggenError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import type { FailedPoll } from "../../providers/provider.ts";
import { keepResult } from "../../providers/stored-reply.ts";
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
  type FollowedDeps,
  type WaitResult,
  type WaitSettings,
  type WaitSpec,
  waitForTask,
  whyGone,
} from "../polling/wait.ts";
import { providerName, type TaskDeps } from "./deps.ts";
import type { ProgressFacts } from "./events.ts";
import type { HeldTask } from "./held.ts";
import { createJob } from "./jobs.ts";
import { endLine } from "./reply-lines.ts";
import { timeLimit } from "./send.ts";
import { noLongerKnown } from "./task-error.ts";
import { withinLimit } from "./time-limit.ts";

/** A job of a task at its provider. */
export interface AcceptedJob {
  /** Index of the request in its task, from 0. */
  request: number;
  attempt: string;
  /** The provider's id of it. */
  id: string;
  /** Milliseconds since the epoch. */
  acceptedMs: number;
  /** Whether its provider had no word of it any longer. */
  isGone: boolean;
}

/** The jobs of a task that its provider has accepted, and that have not ended. */
export function acceptedJobs(task: Pick<Task, "requests">): AcceptedJob[] {
  return knownJobs(task).filter(({ request }) => task.requests[request]?.state === "accepted");
}

/** The jobs of a task, those that have ended too. */
export function knownJobs({ requests }: Pick<Task, "requests">): AcceptedJob[] {
  return requests.flatMap(({ attempt, state }, request) => {
    // The provider no longer has the job of a request that waits to be submitted again.
    if (attempt?.accepted == null || state === "waiting") return [];
    const { id, at } = attempt.accepted;
    const isGone = attempt.goneReason !== null;
    return [{ request, attempt: attempt.name, id, acceptedMs: Date.parse(at), isGone }];
  });
}

/**
 * The jobs of a task of an earlier run that are waited for: those that run, and those whose images are at URLs, which may have
 * expired.
 */
export function openJobs(task: Pick<Task, "requests" | "state">): AcceptedJob[] {
  if (task.state === "saved") return [];
  return knownJobs(task).filter(({ request }) => {
    const each = task.requests[request];
    return each?.state === "accepted" || (each !== undefined && isAtUrls(each));
  });
}

/** Whether what a request has made is at URLs, not on this disk. */
export function isAtUrls(request: RequestState): boolean {
  return (getAnswer(request, "completed")?.urls.length ?? 0) > 0;
}

/** Options for waiting for jobs. */
export interface FollowSpec extends WaitSettings, Pick<WaitSpec, "keepsReply"> {
  /** Whether a job is polled at once, because it may have ended long ago. */
  pollAtOnce: boolean;
  /** Whether a free job that its provider has lost is to be submitted again. */
  resubmits?: boolean;
  /** Called with the provider's warnings about images that are saved. */
  onWarning?: (message: string) => void;
}

/** Waits for a job, and meanwhile has the provider say how far it is. Records nothing. */
export async function waitForJob(
  task: Pick<Task, "id" | "intent" | "requests">,
  job: AcceptedJob,
  { timeoutMs, schedule, pollAtOnce, keepsReply }: FollowSpec,
  deps: TaskDeps,
): Promise<WaitResult> {
  const { request, requestMs, taskId: ownId } = task.intent;
  // Users know the task by our id, if it has one: the provider's may be a whole address.
  const taskId = ownId ?? job.id;
  const usualMs = schedule ? null : await deps.schedules.usualMs(request);
  deps.onProgress({ type: "waiting", taskId, usualMs });
  const onProgress: TaskDeps["onProgress"] = (event) =>
    deps.onProgress("taskId" in event ? { ...event, taskId } : event);
  const spec = {
    schedule: schedule ?? (await deps.schedules.of(request)),
    timeoutMs: timeoutMs ?? requestMs,
    ageMs: deps.clock.now() - job.acceptedMs,
    pollAtOnce,
    isGone: job.isGone,
    job: createJob(task, job.request, job.attempt, deps.ledger.work),
    keepsReply,
  };
  return whileFollowed(job, { ...deps, onProgress }, (followed) => waitForTask(job.id, spec, followed));
}

/** Does work, and meanwhile reports the provider's own progress of a job. @param work reports what polls say of it */
async function whileFollowed<Result>(
  { id, request }: AcceptedJob,
  deps: TaskDeps,
  work: (deps: TaskDeps & Required<FollowedDeps>) => Promise<Result>,
): Promise<Result> {
  const { provider, serviceUrl } = deps.connection;
  const over = new AbortController();
  const signal = AbortSignal.any([deps.signal, over.signal]);
  const say = (facts: ProgressFacts) => deps.onProgress({ type: "progress", taskId: id, request, ...facts });
  const onAhead = (ahead: number) => say({ share: null, waiting: { ahead, holder: serviceUrl.host } });
  const onProgress = (share: number) => say({ share, waiting: null });
  const following = provider.follow?.(id, { signal, onProgress, onPreview: deps.onPreview });
  const jobEnd = new Promise<void>((resolve) => {
    void following?.then((hasEnded) => hasEnded && resolve());
  });
  try {
    return await work({ ...deps, onAhead, onShare: onProgress, jobEnd });
  } finally {
    over.abort();
    await following;
  }
}

/**
 * Waits for one of a task's jobs, and records how it ends. One that the user cancels is asked to stop.
 * @param seen how the wait for it ended, if it is over already
 * @returns why it is no longer waited for; null if it has ended
 */
export async function followJob(
  heldTask: HeldTask,
  job: AcceptedJob,
  spec: FollowSpec,
  deps: TaskDeps,
  seen: WaitResult | undefined,
): Promise<ImggenError | null> {
  if (seen !== undefined) return recordWait(heldTask, job, seen, deps, spec);
  const unlist = makeStoppable(heldTask, job, deps);
  const jobEnded = deps.gate.jobBegan();
  const cancelled = new AbortController();
  const unwatch = heldTask.onCancel(() => cancelled.abort());
  const waitWith = (signal: AbortSignal) =>
    waitForJob(heldTask.task, job, { ...spec, keepsReply: true }, { ...deps, signal });
  try {
    const result = await waitWith(AbortSignal.any([deps.signal, cancelled.signal]));
    const isAsked = cancelled.signal.aborted && result.outcome === "interrupted" && !deps.signal.aborted;
    if (isAsked && (await askToStop(heldTask, job, deps)) === null) {
      unlist();
      return null;
    }
    // Its provider has not stopped it.
    const waited = isAsked ? await waitWith(deps.signal) : result;
    // After a signal a free one may still be asked to stop.
    if (waited.outcome !== "interrupted") unlist();
    return await recordWait(heldTask, job, waited, deps, spec);
  } finally {
    jobEnded();
    unwatch();
  }
}

/** Lists a free job among those that a second signal stops. No signal cancels a paid one. @returns takes it off the list */
function makeStoppable(
  heldTask: HeldTask,
  job: AcceptedJob,
  { stoppable, connection }: TaskDeps,
): () => void {
  if (heldTask.task.intent.isPaid || !stoppable) return () => {};
  const task = { taskId: displayId(heldTask.task), name: providerName(connection) };
  return stoppable.add(task, job.id, connection.provider);
}

async function recordWait(
  heldTask: HeldTask,
  job: AcceptedJob,
  waited: WaitResult,
  deps: TaskDeps,
  { onWarning = () => {}, resubmits = false }: Partial<FollowSpec> = {},
): Promise<ImggenError | null> {
  switch (waited.outcome) {
    case "ended": {
      const { task } = waited;
      if (task.status === "completed") for (const warning of task.warnings ?? []) onWarning(warning);
      if (heldTask.isLost) return heldTask.takenOver();
      const unkept = await keepReply(heldTask, job, task, deps);
      if (unkept !== null) return unkept;
      await heldTask.record(endLine(task, job, isoTime(deps.clock.now()), waited));
      if (task.status === "completed") await deps.schedules.learn(heldTask.task.intent.request, waited);
      return null;
    }
    case "refused": {
      const why = whyGone(waited);
      if (why !== null) await recordGone(heldTask, job.request, why, deps);
      return waited.error;
    }
    case "gone": {
      const { why } = waited.lastFailure;
      if (!isLostJob(heldTask.task, waited)) await recordGone(heldTask, job.request, why, deps);
      else if (resubmits) return recordLost(heldTask, job, waited.lastFailure, deps);
      // The URLs of a finished one may still work.
      return heldTask.task.requests[job.request]?.state === "completed"
        ? null
        : noLongerKnown(heldTask.task, why);
    }
    case "interrupted":
      return interruptedError(deps.signal, heldTask.charged);
    case "timeout":
      return stillRunning(heldTask.task, waited.lastFailure?.why ?? null);
  }
}

/** Records that a provider has no longer a request's job or images: once, or its file would grow with every resume. */
export async function recordGone(
  heldTask: HeldTask,
  request: number,
  why: string,
  { clock }: Pick<TaskDeps, "clock">,
): Promise<void> {
  const attempt = heldTask.task.requests[request]?.attempt;
  if (attempt == null || attempt.goneReason !== null) return;
  await heldTask.record({ type: "gone", at: isoTime(clock.now()), why, request, attempt: attempt.name });
}

/** Whether a free provider no longer has the job that was waited for. */
export function isLostJob(
  { intent }: Pick<Task, "intent">,
  waited: WaitResult,
): waited is WaitResult & { outcome: "gone" } {
  return !intent.isPaid && waited.outcome === "gone";
}

/** Records that a free provider has lost a job: its request waits to be submitted again, or has failed too often. */
async function recordLost(
  heldTask: HeldTask,
  { request, attempt }: AcceptedJob,
  { why }: FailedPoll,
  { clock, onProgress }: TaskDeps,
): Promise<ImggenError | null> {
  if (heldTask.isLost) return heldTask.takenOver();
  const of = { at: isoTime(clock.now()), request, attempt };
  const tries = (heldTask.task.requests[request]?.tries ?? 0) + 1;
  if (tries < POLICY.submit.lost.attempts) {
    await heldTask.record({ type: "unknown", ...of, why, unusable: true });
    onProgress({ type: "submit_retry", why: `${why}.`, isLost: true, delayMs: 0 });
  } else await heldTask.record({ type: "failed", ...of, errorCode: null, why: `${why}.`, charged: "no" });
  return null;
}

/** Keeps a reply that `images` reads, before its job is recorded as completed. @returns why that cannot be done */
async function keepReply(
  { task: { id }, charged }: HeldTask,
  { request, attempt }: AcceptedJob,
  end: EndedState,
  { ledger: { work } }: TaskDeps,
): Promise<ImggenError | null> {
  if (end.status !== "completed" || end.reply === undefined) return null;
  try {
    await keepResult({ folder: work.attemptFolder(id, request, attempt) }, end.reply);
    return null;
  } catch (error) {
    return new StateFolderError(work.folder, error, { charged });
  }
}

/** The error of a task whose end was not seen. @param why the last poll has failed; null if it has not */
export function stillRunning(task: Task, why: string | null): PendingError {
  const state = why === null ? "is still running" : `was not seen to finish: ${why}`;
  return new PendingError(`Task ${displayId(task)} ${state}.`, { charged: getCharged(task) });
}

/** The error of a poll that has no usable answer. */
export function unseen({ connectionError, why }: FailedPoll, charged: Charged, service: URL): ImggenError {
  if (connectionError === null)
    return new ServiceError(`The service gave no usable answer: ${why}.`, { charged });
  const next = "The task itself is not affected. Check the network and try again.";
  const { message, hint } = describeConnectionError(connectionError, service, next);
  return new NetworkError(message, { hint, charged, cause: connectionError });
}

/** Time limit for a provider's answer. */
const ANSWER_MS = 10_000;
/** Time limit for a provider to stop a job after it has said so. */
const STOP_MS = 10_000;
const POLL_EVERY_MS = 500;

/**
 * Asks a provider to stop working on a request that it has accepted, and records what it then says of it. It is never
 * taken as not charged without the provider's word.
 * @returns why it goes on, as a clause, or as the error for a key that is refused or missing; null if it has ended
 */
export async function askToStop(
  heldTask: HeldTask,
  job: AcceptedJob,
  deps: TaskDeps,
): Promise<string | AuthRequiredError | null> {
  const { provider } = deps.connection;
  const name = providerName(deps.connection);
  if (!provider.cancel) return `${name} has accepted it, and cannot cancel`;
  const answer = await withinLimit(ANSWER_MS, timeLimit(ANSWER_MS), deps, async (limited) =>
    provider.cancel?.(job.id, limited),
  ).catch((error: unknown) => {
    if (error instanceof AuthRequiredError) return error;
    throw error;
  });
  if (answer instanceof AuthRequiredError) return answer;
  if (answer === null) return `${name} was asked to stop it, and did not answer`;
  return answer ? recordStop(heldTask, job, name, deps) : `${name} did not stop it`;
}

/** Polls what was stopped until it has ended: it may have been made at that very moment. */
async function recordStop(
  heldTask: HeldTask,
  job: AcceptedJob,
  name: string,
  deps: TaskDeps,
): Promise<string | null> {
  const schedule = fixedSchedule(POLL_EVERY_MS);
  const waited = await waitForTask(
    job.id,
    {
      schedule,
      timeoutMs: STOP_MS,
      ageMs: Number.POSITIVE_INFINITY,
      pollAtOnce: true,
      job: createJob(heldTask.task, job.request, job.attempt, deps.ledger.work),
      keepsReply: true,
    },
    deps,
  );
  const free = heldTask.task.intent.isPaid ? {} : { charged: "no" as const };
  const stopped = { errorCode: null, why: `${CANCELLED}.`, ...free };
  if (waited.outcome === "ended") {
    const { task } = waited;
    const stoppedTask = task.status === "failed" ? { ...task, ...stopped } : task;
    return (await recordWait(heldTask, job, { ...waited, task: stoppedTask }, deps))?.message ?? null;
  }
  return `${name} was asked to stop it, and has not said yet that it has`;
}
