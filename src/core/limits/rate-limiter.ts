import { backoffMs, type RetryRule } from "../../api/retry.ts";
import type { Clock } from "../../lib/clock.ts";
import { Slots, WaitQueue } from "../../lib/concurrency.ts";
import { failedPoll } from "../../providers/failures.ts";
import type { PollReply, Provider } from "../../providers/provider.ts";

export interface RateLimiterDeps {
  clock: Pick<Clock, "monotonicMs" | "sleep">;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Called when all requests are paused, with the duration in milliseconds. */
  onPause?: (ms: number) => void;
}

const RATE_LIMITED: RetryRule = { attempts: Number.POSITIVE_INFINITY, baseMs: 1000 };

/**
 * Limits the rate of all requests of a batch together. After a 429 nothing is sent until the time that the service
 * asked for has passed, and fewer submits run at once; each submit accepted after that allows one more.
 */
export class RateLimiter {
  readonly #deps: RateLimiterDeps;
  #pausedUntilMs = 0;
  #refusals = 0;
  /** How many submits may be under way at once. */
  #width = Number.POSITIVE_INFINITY;
  #underWay = 0;
  readonly #line = new WaitQueue();

  constructor(deps: RateLimiterDeps) {
    this.#deps = deps;
  }

  /** How long the pause lasts from now; 0 or less if there is none. */
  get leftMs(): number {
    return this.#pausedUntilMs - this.#deps.clock.monotonicMs();
  }

  /** Waits until a request may be sent. @throws the signal's reason */
  async pause(signal: AbortSignal): Promise<void> {
    for (let ms = this.leftMs; ms > 0; ms = this.leftMs) await this.#deps.clock.sleep(ms, signal);
  }

  /** Waits for a place among the running submits; `leave` returns it. @throws the signal's reason */
  async enter(signal: AbortSignal): Promise<void> {
    while (this.#underWay >= this.#width) await this.#line.wait(signal);
    this.#underWay += 1;
    try {
      await this.pause(signal);
    } catch (error) {
      this.leave();
      throw error;
    }
  }

  leave(): void {
    this.#underWay -= 1;
    this.#line.wakeOne();
  }

  /** The service answered 429. @param retryAfterMs from its Retry-After header; null without one */
  slowDown(retryAfterMs: number | null): void {
    this.#refusals += 1;
    const pauseMs = backoffMs(RATE_LIMITED, this.#refusals, retryAfterMs, this.#deps.random);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#deps.clock.monotonicMs() + pauseMs);
    this.#deps.onPause?.(pauseMs);
    this.#width = Math.max(1, Math.floor(Math.min(this.#width, this.#underWay) / 2));
  }

  /** The service answered with something other than 429: the next 429 starts with a short pause again. */
  answered(): void {
    this.#refusals = 0;
  }

  /** The service accepted a submit. */
  speedUp(): void {
    this.#refusals = 0;
    this.#width += 1;
    this.#line.wakeOne();
  }
}

const POLLS_AT_ONCE = 32;

/**
 * A provider whose polls, of many tasks, have limited concurrency; the others wait in the order in which they came.
 * After a 429 none is sent until the time that the service asked for has passed.
 */
export function withLimitedPolls(provider: Provider, deps: RateLimiterDeps): Provider {
  if (!provider.poll) return provider;
  const rateLimiter = new RateLimiter(deps);
  const slots = new Slots(POLLS_AT_ONCE);
  return {
    version: 1,
    limits: provider.limits,
    downloadHeaders: provider.downloadHeaders,
    ...(provider.place && { place: provider.place.bind(provider) }),
    submit: (...args) => provider.submit(...args),
    recover: async (...args) => (await provider.recover?.(...args)) ?? null,
    images: async (job) => (await provider.images?.(job)) ?? [],
    ...(provider.follow && { follow: provider.follow.bind(provider) }),
    ...(provider.cancel && { cancel: provider.cancel.bind(provider) }),
    close: () => provider.close(),
    poll: (taskId, timeoutMs, signal) =>
      slots.run(async () => {
        const reply = await pollWithinLimit(provider, rateLimiter, taskId, timeoutMs, signal);
        if (reply.outcome !== "retry") rateLimiter.answered();
        return reply;
      }),
  };
}

/** Polls a task once, when the rate limit of all polls allows. A 429 slows all of them down. Never throws. */
export async function pollWithinLimit(
  provider: Provider,
  rateLimiter: RateLimiter,
  taskId: string,
  timeoutMs: number | undefined,
  signal: AbortSignal,
): Promise<PollReply> {
  const leftMs = rateLimiter.leftMs;
  // The wait for this task would end before its turn; waitForTask handles that.
  if (timeoutMs !== undefined && leftMs > timeoutMs)
    return { ...NOT_POLLED, why: "the service is busy (HTTP 429)", rateLimited: true, retryAfterMs: leftMs };
  // The signal ended the wait, so nothing is sent.
  await rateLimiter.pause(signal).catch(() => {});
  if (signal.aborted) return NOT_POLLED;
  if (!provider.poll) throw new TypeError("the provider of this task cannot be polled");
  const reply = await provider.poll(taskId, timeoutMs, signal);
  if (reply.outcome === "retry" && reply.rateLimited) rateLimiter.slowDown(reply.retryAfterMs);
  return reply;
}

const NOT_POLLED = failedPoll("interrupted");
