import { NetworkError } from "../../api/api-errors.ts";
import { describeConnectionError } from "../../api/connection-errors.ts";
import { backoffMs, isRetryable } from "../../api/retry.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import type { FailedPoll, Job, PolledState, PollHow, PollReply } from "../../providers/provider.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { TaskDeps } from "../engine/deps.ts";
import { POLICY } from "../limits/policy.ts";
import type { PollingSchedule } from "./fixed-schedules.ts";

export interface WaitSettings {
  /** Timeout for the result, in milliseconds; null: the default for the request. */
  timeoutMs: number | null;
  /** null: the automatic schedule, which learns from the history. */
  schedule: PollingSchedule | null;
}

/** Timeout for a request's result (default: 180 s, and 600 s for 4K). */
export function waitTimeoutMs(settings: WaitSettings, request: GenerationRequest | null): number {
  const { timeoutMs, timeout4KMs } = POLICY.wait;
  return settings.timeoutMs ?? (request?.quality === "4K" ? timeout4KMs : timeoutMs);
}

export interface WaitSpec extends Pick<PollHow, "keepsReply"> {
  /** As of `PollHow`. */
  job: Job;
  schedule: PollingSchedule;
  /** Timeout from now, in milliseconds. The last poll comes at its end. */
  timeoutMs: number;
  /** Age of the task. */
  ageMs: number;
  /** Whether to poll at once, for a task that may have finished long ago. */
  pollAtOnce: boolean;
  /** Whether an earlier wait has found the job gone: it is polled once, unless it is there again. */
  isGone?: boolean;
}

/** A task that has ended, as polling shows it. */
export type EndedState = Exclude<PolledState, { status: "running" }>;

/** End of a wait. */
export type WaitResult =
  /** The task itself has ended: at this age it was seen to, and at `pendingMs` it was last seen running. */
  | { outcome: "ended"; task: EndedState; seenMs: number; pendingMs: number | null }
  /** The service answered with an error; the task itself may still complete. */
  | { outcome: "refused"; error: ImggenError }
  /** The time is up. `lastFailure`: the last poll, if it failed. `wasSeen`: whether any poll saw the task. */
  | { outcome: "timeout"; lastFailure: FailedPoll | null; wasSeen: boolean }
  /** The service has answered for a while, and had no word of the job. The job itself has not ended. */
  | { outcome: "gone"; lastFailure: FailedPoll }
  | { outcome: "interrupted" };

/** The error key for a task that the service does not know, which is tolerated for a moment after the submit. */
const NOT_YET_KNOWN = "image_generation.error.unknown_error";

/** The reason to say that the service no longer knows a job, from the end of its wait; null for none. The job itself is open. */
export function goneReason(waited: WaitResult): string | null {
  if (waited.outcome === "gone") return waited.lastFailure.why;
  return waited.outcome === "refused" && waited.error.key === NOT_YET_KNOWN ? waited.error.message : null;
}

type WaitDeps = Pick<TaskDeps, "connection" | "gate" | "clock" | "signal" | "onProgress" | "random"> &
  FollowedDeps;

/** Dependencies of a wait that also reports the job's progress. */
export interface FollowedDeps {
  /** Called with the number of others before the task at its provider, where a poll says that. */
  onAhead?: (ahead: number) => void;
  /** Called with the progress of the job, from 0 to 1, if a poll has it. */
  onShare?: (share: number) => void;
  /** Resolves when the provider itself says that the task has ended: it is polled at once then. */
  jobEnd?: Promise<void>;
}

/**
 * Polls until the task is completed or failed (the client rule of section 3) or the time is up. A failed poll never
 * ends the wait; a definite error does.
 */
export async function waitForTask(taskId: string, options: WaitSpec, deps: WaitDeps): Promise<WaitResult> {
  const { clock } = deps;
  const { job, keepsReply } = options;
  const start = clock.monotonicMs();
  // After a clock was set back the age would be negative.
  const ageAtStart = Math.max(0, options.ageMs);
  const age = () => ageAtStart + clock.monotonicMs() - start;
  const remaining = () => options.timeoutMs - (clock.monotonicMs() - start);
  let delay = options.pollAtOnce ? 0 : options.schedule.nextDelayMs(age());
  let failures = 0;
  let pendingMs: number | null = null;
  let lastFailure: FailedPoll | null = null;
  let { isGone = false } = options;
  /** Since when no answer had a word of the job, by the monotonic clock; null if the last one had, or there was none. */
  let missingSince: number | null = null;
  const goneInMs = (since: number) => {
    const { goneMs } = POLICY.poll;
    return isGone ? 0 : Math.max(since + goneMs - clock.monotonicMs(), goneMs - age());
  };
  let { jobEnd } = deps;
  let isOver = false;
  void jobEnd?.then(() => {
    isOver = true;
  });
  for (;;) {
    const last = delay >= remaining();
    const delayMs = Math.max(0, Math.min(delay, remaining()));
    if (!(await pauseUntil(jobEnd, delayMs, deps))) return { outcome: "interrupted" };
    // If that poll does not show it yet, the next ones wait.
    if (isOver) jobEnd = undefined;
    const timeoutMs = Math.max(POLICY.poll.minLastMs, remaining());
    const reply = await pollOnce(taskId, { job, keepsReply, timeoutMs }, deps);
    if (deps.signal.aborted) return { outcome: "interrupted" };
    const end = conclude(reply, age(), pendingMs) ?? hopeless(reply, deps.connection.serviceUrl);
    if (end) return end;
    if (reply.outcome === "state") {
      pendingMs = age();
      isGone = false;
    }
    noteProgress(reply, deps);
    failures = reply.outcome === "retry" ? failures + 1 : 0;
    lastFailure = reply.outcome === "retry" ? reply : null;
    missingSince = lastFailure?.isMissing ? (missingSince ?? clock.monotonicMs()) : null;
    if (lastFailure !== null && missingSince !== null && goneInMs(missingSince) <= 0)
      return { outcome: "gone", lastFailure };
    if (lastFailure !== null) deps.onProgress({ type: "poll_failed", taskId, why: lastFailure.why });
    const timeout = { outcome: "timeout", lastFailure, wasSeen: pendingMs !== null } as const;
    if (last) return timeout;
    delay = Math.max(options.schedule.nextDelayMs(age()), backoffAfter(reply, failures, deps));
    // The service asks for a longer pause than is left; a poll before that would be refused again.
    const intervalMs = askedFor(reply);
    if (missingSince !== null && intervalMs === 0) delay = Math.min(delay, goneInMs(missingSince));
    if (intervalMs > 0 && intervalMs > remaining()) return timeout;
  }
}

/** The result of the wait if this reply ends it; null if the wait continues. */
function conclude(reply: PollReply, ageMs: number, pendingMs: number | null): WaitResult | null {
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

/** Whether the service may not know a task of this age yet. */
export function isNotYetKnown({ key }: ImggenError, ageMs: number): boolean {
  return key === NOT_YET_KNOWN && ageMs < POLICY.poll.notYetKnownMs;
}

function noteProgress(reply: PollReply, { onAhead, onShare }: WaitDeps): void {
  if (reply.outcome !== "state" || reply.task.status !== "running") return;
  const { ahead = 0, share } = reply.task;
  if (ahead > 0) onAhead?.(ahead);
  else if (share !== undefined) onShare?.(share);
}

/** Polls a task once, when the gate allows. @throws TypeError at a provider that gives no ids to poll */
export async function pollOnce(
  taskId: string,
  how: Omit<PollHow, "signal">,
  { connection, gate, signal }: Pick<TaskDeps, "connection" | "gate" | "signal">,
): Promise<PollReply> {
  const { provider } = connection;
  const poll = provider.poll?.bind(provider);
  if (!poll) throw new TypeError("the provider of this task cannot be polled");
  return gate.poll(() => poll(taskId, { ...how, signal }), how.timeoutMs, signal);
}

/** An error that another poll would meet too, such as a rejected certificate or a fault of this process, ends the wait. */
function hopeless(reply: PollReply, service: URL): WaitResult | null {
  if (reply.outcome !== "retry" || isRetryable(reply.connectionError)) return null;
  const { message, hint } = describeConnectionError(reply.connectionError, service);
  return {
    outcome: "refused",
    error: new NetworkError(message, { hint, charged: "yes", cause: reply.connectionError }),
  };
}

function askedFor(reply: PollReply): number {
  return reply.outcome === "retry" ? (reply.retryAfterMs ?? 0) : 0;
}

function backoffAfter(reply: PollReply, failures: number, deps: Pick<TaskDeps, "random">): number {
  if (reply.outcome !== "retry") return 0;
  const rule = reply.rateLimited ? POLICY.poll.rateLimited : POLICY.poll.failed;
  return backoffMs(rule, failures, reply.retryAfterMs, deps.random);
}

/** Waits, and no longer than until the task has ended. @returns as `pause` */
async function pauseUntil(
  jobEnd: Promise<void> | undefined,
  ms: number,
  deps: Pick<TaskDeps, "clock" | "signal">,
): Promise<boolean> {
  if (jobEnd === undefined) return pause(ms, deps);
  const over = new AbortController();
  const signal = AbortSignal.any([deps.signal, over.signal]);
  try {
    await Promise.race([pause(ms, { ...deps, signal }), jobEnd]);
    return !deps.signal.aborted;
  } finally {
    over.abort();
  }
}

/** Waits. @returns false if the signal ended it */
export async function pause(ms: number, deps: Pick<TaskDeps, "clock" | "signal">): Promise<boolean> {
  try {
    await deps.clock.sleep(ms, deps.signal);
    return true;
  } catch (error) {
    if (deps.signal.aborted) return false;
    throw error;
  }
}
