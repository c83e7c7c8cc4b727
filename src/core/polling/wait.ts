import { describeConnectionError, isUntrusted } from "../../api/connection-errors.ts";
import { NetworkError } from "../../api/errors.ts";
import { backoffMs, POLL, POLL_RATE_LIMITED } from "../../api/retry.ts";
import type { PolledState, QueueFacts } from "../../providers/service/schema.ts";
import type { FailedPoll, PollReply } from "../../providers/service/http-service.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { OwnQueue, TaskDeps } from "../deps.ts";
import type { PollingSchedule } from "./fixed-schedules.ts";

export interface WaitSettings {
  /** How long to wait for the result, milliseconds; null: the default for the request. */
  timeoutMs: number | null;
  /** null: the automatic schedule, which learns from the history. */
  schedule: PollingSchedule | null;
}

// The reference client's 60 polls, 3 s apart (section 4.2); the largest images take longer.
const TIMEOUT_MS = 180_000;
const TIMEOUT_4K_MS = 600_000;

/** What a generator's own limit may take to end an image, and its queue to say so. */
const AFTER_LIMIT_MS = 15_000;

/**
 * How long to wait for a request's result. Default: 180 s, and 600 s for 4K; at the user's own generator as long as its
 * images may take.
 */
export function waitTimeoutMs(
  settings: WaitSettings,
  request: GenerationRequest | null,
  generator?: Pick<OwnQueue, "timeoutMs">,
): number {
  const images = request?.maxImages ?? 1;
  if (generator && settings.timeoutMs === null) return images * (generator.timeoutMs + AFTER_LIMIT_MS);
  return settings.timeoutMs ?? (request?.quality === "4K" ? TIMEOUT_4K_MS : TIMEOUT_MS);
}

export interface WaitSpec {
  schedule: PollingSchedule;
  /**
   * How long to wait from now, milliseconds; from its begin for a task in a queue. The last poll comes at the end of
   * the wait.
   */
  timeoutMs: number;
  /** How old the task is already. */
  ageMs: number;
  /** Whether to poll at once, for a task that may have finished long ago. */
  pollAtOnce: boolean;
}

/** A task that has ended, as polling shows it. */
export type EndedState = Exclude<PolledState, { status: "running" }>;

/** How a wait ended. */
export type WaitResult =
  /** The task itself has ended: at this age it was seen to, and at `pendingMs` it was last seen running. */
  | { outcome: "ended"; task: EndedState; seenMs: number; pendingMs: number | null }
  /** The service answered with an error; the task itself may still complete. */
  | { outcome: "refused"; error: ImggenError }
  /**
   * `lastFailure`: the last poll, if it failed. `wasSeen`: whether any poll saw the task. `queue`: what its queue said
   * of it last.
   */
  | { outcome: "timeout"; lastFailure: FailedPoll | null; wasSeen: boolean; queue?: QueueFacts }
  | { outcome: "interrupted" };

/** The error key for a task that the service does not know, which is tolerated for a moment after the submit. */
const NOT_YET_KNOWN = "image_generation.error.unknown_error";
const NOT_YET_KNOWN_FOR_MS = 30_000;
const SHORTEST_LAST_POLL_MS = 1_000;

type WaitDeps = Pick<TaskDeps, "connection" | "clock" | "signal" | "onProgress" | "random">;

/**
 * Polls until the task is completed or failed (the client rule of section 3) or the time is up. A failed poll never
 * ends the wait; a definite error does.
 */
export async function waitForTask(taskId: string, options: WaitSpec, deps: WaitDeps): Promise<WaitResult> {
  const { clock } = deps;
  const start = clock.monotonicMs();
  // After a clock was set back the age would be negative.
  const ageAtStart = Math.max(0, options.ageMs);
  const age = () => ageAtStart + clock.monotonicMs() - start;
  let waitingSince = start;
  const remaining = () => options.timeoutMs - (clock.monotonicMs() - waitingSince);
  let delay = options.pollAtOnce ? 0 : options.schedule.nextDelayMs(age());
  let failures = 0;
  let pendingMs: number | null = null;
  let lastFailure: FailedPoll | null = null;
  let queue: QueueFacts | undefined;
  for (;;) {
    const last = delay >= remaining();
    if (!(await pause(Math.max(0, Math.min(delay, remaining())), deps))) return { outcome: "interrupted" };
    const pollTimeoutMs = Math.max(SHORTEST_LAST_POLL_MS, remaining());
    const reply = await deps.connection.service.poll(taskId, pollTimeoutMs, deps.signal);
    if (deps.signal.aborted) return { outcome: "interrupted" };
    const end = conclude(reply, age(), pendingMs) ?? untrusted(reply, deps.connection.serviceUrl);
    if (end) return end;
    if (reply.outcome === "state") pendingMs = age();
    showProgress(taskId, reply, deps);
    // What waits for others has not begun, and so its time has not either.
    const isQueued = isInQueue(reply) && options.timeoutMs > 0;
    if (isQueued) waitingSince = clock.monotonicMs();
    failures = reply.outcome === "retry" ? failures + 1 : 0;
    lastFailure = reply.outcome === "retry" ? reply : null;
    if (lastFailure !== null) deps.onProgress({ type: "poll_failed", taskId, why: lastFailure.why });
    queue = queueOf(reply) ?? queue;
    const wasSeen = pendingMs !== null;
    const timeout = { outcome: "timeout", lastFailure, wasSeen, ...(queue && { queue }) } as const;
    if (last && !isQueued) return timeout;
    delay = Math.max(options.schedule.nextDelayMs(age()), backoffAfter(reply, failures, deps));
    // The service asks for a longer pause than is left; a poll before that would be refused again.
    const asked = askedFor(reply);
    if (asked > 0 && asked > remaining()) return timeout;
  }
}

/** The result of the wait if this reply ends it; null if the wait continues. */
function conclude(reply: PollReply, ageMs: number, pendingMs: number | null): WaitResult | null {
  switch (reply.outcome) {
    case "retry":
      return null;
    case "refused":
      if (reply.error.key === NOT_YET_KNOWN && ageMs < NOT_YET_KNOWN_FOR_MS) return null;
      return { outcome: "refused", error: reply.error };
    case "state":
      if (reply.task.status === "running") return null;
      return { outcome: "ended", task: reply.task, seenMs: ageMs, pendingMs };
  }
}

/** Whether a generator's queue has not begun the task, because others have all its places. */
function isInQueue(reply: PollReply): boolean {
  return queueOf(reply)?.isWaiting === true;
}

function queueOf(reply: PollReply): QueueFacts | undefined {
  return reply.outcome === "state" && reply.task.status === "running" ? reply.task.queue : undefined;
}

function showProgress(taskId: string, reply: PollReply, { onProgress }: Pick<TaskDeps, "onProgress">): void {
  const queue = queueOf(reply);
  if (queue !== undefined) onProgress({ type: "progress", taskId, ...queue });
}

/** A rejected certificate ends the wait: polling again would not help. */
function untrusted(reply: PollReply, service: URL): WaitResult | null {
  if (reply.outcome !== "retry" || !isUntrusted(reply.connectionError)) return null;
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
  const rule = reply.rateLimited ? POLL_RATE_LIMITED : POLL;
  return backoffMs(rule, failures, reply.retryAfterMs, deps.random);
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
