import type { ImageService, PollReply } from "../../api/service.ts";
import { Slots } from "../../lib/concurrency.ts";
import { RateLimiter, type RateLimiterDeps } from "./rate-limiter.ts";

const POLLS_AT_ONCE = 32;

/**
 * The polls of many tasks, with limited concurrency; the others wait in the order in which they came. After a 429 none
 * is sent until the time that the service asked for has passed.
 */
export class RateLimitedPolls implements ImageService {
  readonly #service: ImageService;
  readonly #rateLimiter: RateLimiter;
  readonly #slots = new Slots(POLLS_AT_ONCE);

  constructor(service: ImageService, deps: RateLimiterDeps) {
    this.#service = service;
    this.#rateLimiter = new RateLimiter(deps);
  }

  get submitTimeoutMs(): number {
    return this.#service.submitTimeoutMs;
  }

  submit(...args: Parameters<ImageService["submit"]>): ReturnType<ImageService["submit"]> {
    return this.#service.submit(...args);
  }

  poll(taskId: string, timeoutMs: number | undefined, signal: AbortSignal): Promise<PollReply> {
    return this.#slots.run(async () => {
      const reply = await pollWithinLimit(this.#service, this.#rateLimiter, taskId, timeoutMs, signal);
      if (reply.outcome !== "retry") this.#rateLimiter.answered();
      return reply;
    });
  }
}

/** Polls a task once, when the rate limit of all polls allows. A 429 slows all of them down. Never throws. */
export async function pollWithinLimit(
  service: ImageService,
  rateLimiter: RateLimiter,
  taskId: string,
  timeoutMs: number | undefined,
  signal: AbortSignal,
): Promise<PollReply> {
  const leftMs = rateLimiter.leftMs;
  // The wait for this task would end before its turn; waitForTask handles that.
  if (timeoutMs !== undefined && leftMs > timeoutMs) return tooBusy(leftMs);
  // The signal ended the wait, so nothing is sent.
  await rateLimiter.pause(signal).catch(() => {});
  if (signal.aborted) return interrupted();
  const reply = await service.poll(taskId, timeoutMs, signal);
  if (reply.outcome === "retry" && reply.rateLimited) rateLimiter.slowDown(reply.retryAfterMs);
  return reply;
}

function tooBusy(retryAfterMs: number): PollReply {
  const why = "the service is busy (HTTP 429)";
  return { outcome: "retry", why, rateLimited: true, retryAfterMs, connectionError: null };
}

function interrupted(): PollReply {
  return {
    outcome: "retry",
    why: "interrupted",
    rateLimited: false,
    retryAfterMs: null,
    connectionError: null,
  };
}
