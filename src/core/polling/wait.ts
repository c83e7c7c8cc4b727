import { NetworkError } from "../../api/api-errors.ts";
import { describeConnectionError } from "../../api/connection-errors.ts";
import { backoffMs, isRetryable } from "../../api/retry.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import type { FailedPoll, Job, PolledState, PollOptions, PollReply } from "../../providers/provider.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { TaskDeps } from "../engine/deps.ts";
import { POLICY } from "../limits/policy.ts";
import type { PollingSchedule } from "./fixed-schedules.ts";

export interface WaitSettings {
  /** Timeout for the result, in milliseconds; null for the request's default. */
  timeoutMs: number | null;
  /** Schedule of the polls; null for the automatic schedule, which learns from the history. */
  schedule: PollingSchedule | null;
}

/** Timeout for a request's result in milliseconds (default 180 s, 600 s for 4K). */
export function waitTimeoutMs(settings: WaitSettings, request: GenerationRequest | null): number {
  const { timeoutMs, timeout4KMs } = POLICY.wait;
  return settings.timeoutMs ?? (request?.quality === "4K" ? timeout4KMs : timeoutMs);
}

export interface WaitSpec extends Pick<PollOptions, "keepsReply"> {
  job: Job;
  schedule: PollingSchedule;
  /** Timeout from now, in milliseconds. The last poll is made when the timeout expires. */
  timeoutMs: number;
  ageMs: number;
  /** Whether the first poll is made at once, because the task might have ended long ago. */
  pollAtOnce: boolean;
  /** Whether an earlier wait found the job gone. If so, the first poll that does not find the job ends the wait. */
  isGone?: boolean;
}

export type EndedState = Exclude<PolledState, { status: "running" }>;

export type WaitResult =
  /** `seenMs`: task age when a poll found the task ended. `pendingMs`: task age when a poll last found it running. */
  | { outcome: "ended"; task: EndedState; seenMs: number; pendingMs: number | null }
  /** The service refused the poll. The task itself might still complete. */
  | { outcome: "refused"; error: ImggenError }
  /** The wait timed out. `lastFailure`: error of the last poll. `wasSeen`: whether any poll found the task. */
  | { outcome: "timeout"; lastFailure: FailedPoll | null; wasSeen: boolean }
  /** The service has not found the job for `goneMs`. The task stays unfinished. */
  | { outcome: "gone"; lastFailure: FailedPoll }
  | { outcome: "interrupted" };

/** Key of the error for an unknown task. Shortly after the submit, the service might return it for a valid task. */
const NOT_YET_KNOWN = "image_generation.error.unknown_error";

/** Returns the service's message if the service no longer has the job, otherwise null. The task stays unfinished. */
export function goneReason(result: WaitResult): string | null {
  if (result.outcome === "gone") return result.lastFailure.why;
  return result.outcome === "refused" && result.error.key === NOT_YET_KNOWN ? result.error.message : null;
}

type WaitDeps = Pick<TaskDeps, "connection" | "gate" | "clock" | "signal" | "onProgress" | "random"> &
  ProgressDeps;

export interface ProgressDeps {
  /** Called with the number of tasks ahead at the provider, if a poll returns it. */
  onAhead?: (ahead: number) => void;
  /** Called with the progress of the job, from 0 to 1, if a poll returns it. */
  onShare?: (share: number) => void;
  /** Resolves when the provider reports that the job has ended, so that the task is polled at once. */
  jobEnd?: Promise<void>;
}

/**
 * Polls until the task ends (client rule of section 3) or the timeout expires. The wait ends earlier only if a
 * permanent error occurs, the job is gone, Retry-After exceeds the remaining time, or the signal aborts.
 */
export async function waitForTask(taskId: string, options: WaitSpec, deps: WaitDeps): Promise<WaitResult> {
  const { clock } = deps;
  const { job, keepsReply } = options;
  const startMs = clock.monotonicMs();
  // A negative age means that the clock was set back, so it counts as 0.
  const startAgeMs = Math.max(0, options.ageMs);
  const getAgeMs = () => startAgeMs + clock.monotonicMs() - startMs;
  const getRemainingMs = () => options.timeoutMs - (clock.monotonicMs() - startMs);
  let delay = options.pollAtOnce ? 0 : options.schedule.nextDelayMs(getAgeMs());
  let failures = 0;
  let pendingMs: number | null = null;
  let lastFailure: FailedPoll | null = null;
  let { isGone = false } = options;
  /** Monotonic time of the first in a series of replies that did not find the job; null if the last reply found it. */
  let missingSinceMs: number | null = null;
  const getMsUntilGone = (since: number) => {
    const { goneMs } = POLICY.poll;
    return isGone ? 0 : Math.max(since + goneMs - clock.monotonicMs(), goneMs - getAgeMs());
  };
  let { jobEnd } = deps;
  let hasJobEnded = false;
  void jobEnd?.then(() => {
    hasJobEnded = true;
  });
  for (;;) {
    const isLastPoll = delay >= getRemainingMs();
    const delayMs = Math.max(0, Math.min(delay, getRemainingMs()));
    if (!(await pauseUntil(jobEnd, delayMs, deps))) return { outcome: "interrupted" };
    // The end of the job causes only one early poll. If the task is still running, the next polls follow the schedule.
    if (hasJobEnded) jobEnd = undefined;
    const timeoutMs = Math.max(POLICY.poll.minLastMs, getRemainingMs());
    const reply = await pollOnce(taskId, { job, keepsReply, timeoutMs }, deps);
    if (deps.signal.aborted) return { outcome: "interrupted" };
    const end =
      toWaitResult(reply, getAgeMs(), pendingMs) ?? permanentFailure(reply, deps.connection.serviceUrl);
    if (end) return end;
    if (reply.outcome === "state") {
      pendingMs = getAgeMs();
      isGone = false;
    }
    reportProgress(reply, deps);
    failures = reply.outcome === "retry" ? failures + 1 : 0;
    lastFailure = reply.outcome === "retry" ? reply : null;
    missingSinceMs = lastFailure?.isMissing ? (missingSinceMs ?? clock.monotonicMs()) : null;
    if (lastFailure !== null && missingSinceMs !== null && getMsUntilGone(missingSinceMs) <= 0)
      return { outcome: "gone", lastFailure };
    if (lastFailure !== null) deps.onProgress({ type: "poll_failed", taskId, why: lastFailure.why });
    const timeout = { outcome: "timeout", lastFailure, wasSeen: pendingMs !== null } as const;
    if (isLastPoll) return timeout;
    delay = Math.max(options.schedule.nextDelayMs(getAgeMs()), backoffAfter(reply, failures, deps));
    // Retry-After is never shortened, because the provider would refuse an earlier poll.
    const intervalMs = retryAfterMs(reply);
    if (missingSinceMs !== null && intervalMs === 0) delay = Math.min(delay, getMsUntilGone(missingSinceMs));
    if (intervalMs > 0 && intervalMs > getRemainingMs()) return timeout;
  }
}

function toWaitResult(reply: PollReply, ageMs: number, pendingMs: number | null): WaitResult | null {
  switch (reply.outcome) {
    case "retry":
      return null;
    case "refused":
      return isNotYetKnown(reply.error, ageMs) ? null : { outcome: "refused", error: reply.error };
    case "state":
      if (reply.task.status === "running") return null;
      return { outcome: "ended", task: reply.task, seenMs: ageMs, pendingMs };
  }
}

/** Whether an error means only that the service does not find a new task yet. */
export function isNotYetKnown({ key }: ImggenError, ageMs: number): boolean {
  return key === NOT_YET_KNOWN && ageMs < POLICY.poll.notYetKnownMs;
}

function reportProgress(reply: PollReply, { onAhead, onShare }: WaitDeps): void {
  if (reply.outcome !== "state" || reply.task.status !== "running") return;
  const { ahead = 0, share } = reply.task;
  if (ahead > 0) onAhead?.(ahead);
  else if (share !== undefined) onShare?.(share);
}

/** Polls a task once, when the gate allows it. @throws TypeError if the provider cannot be polled */
export async function pollOnce(
  taskId: string,
  options: Omit<PollOptions, "signal">,
  { connection, gate, signal }: Pick<TaskDeps, "connection" | "gate" | "signal">,
): Promise<PollReply> {
  const { provider } = connection;
  const poll = provider.poll?.bind(provider);
  if (!poll) throw new TypeError("the provider of this task cannot be polled");
  return gate.poll(() => poll(taskId, { ...options, signal }), options.timeoutMs, signal);
}

/** Returns the result after an error that every further poll would repeat, such as a rejected certificate, or null. */
function permanentFailure(reply: PollReply, service: URL): WaitResult | null {
  if (reply.outcome !== "retry" || isRetryable(reply.connectionError)) return null;
  const { message, hint } = describeConnectionError(reply.connectionError, service);
  return {
    outcome: "refused",
    error: new NetworkError(message, { hint, charged: "yes", cause: reply.connectionError }),
  };
}

function retryAfterMs(reply: PollReply): number {
  return reply.outcome === "retry" ? (reply.retryAfterMs ?? 0) : 0;
}

function backoffAfter(reply: PollReply, failures: number, deps: Pick<TaskDeps, "random">): number {
  if (reply.outcome !== "retry") return 0;
  const rule = reply.rateLimited ? POLICY.poll.rateLimited : POLICY.poll.failed;
  return backoffMs(rule, failures, reply.retryAfterMs, deps.random);
}

/** @returns false if the signal aborted */
async function pauseUntil(
  jobEnd: Promise<void> | undefined,
  ms: number,
  deps: Pick<TaskDeps, "clock" | "signal">,
): Promise<boolean> {
  if (jobEnd === undefined) return pause(ms, deps);
  const pauseEnd = new AbortController();
  const signal = AbortSignal.any([deps.signal, pauseEnd.signal]);
  try {
    await Promise.race([pause(ms, { ...deps, signal }), jobEnd]);
    return !deps.signal.aborted;
  } finally {
    pauseEnd.abort();
  }
}

/** @returns false if the signal aborted */
export async function pause(ms: number, deps: Pick<TaskDeps, "clock" | "signal">): Promise<boolean> {
  try {
    await deps.clock.sleep(ms, deps.signal);
    return true;
  } catch (error) {
    if (deps.signal.aborted) return false;
    throw error;
  }
}
