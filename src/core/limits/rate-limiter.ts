import { backoffMs, type RetryRule } from "../../api/retry.ts";
import type { Clock } from "../../lib/clock.ts";
import { WaitQueue } from "./wait-queue.ts";

export interface RateLimiterDeps {
  clock: Pick<Clock, "monotonicMs" | "sleep">;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Told when all requests are held back, for how many milliseconds. */
  onPause?: (ms: number) => void;
}

const RATE_LIMITED: RetryRule = { attempts: Number.POSITIVE_INFINITY, baseMs: 1000 };

/**
 * One pace for all requests of a batch. Where the service answers 429, nobody sends anything until the time it
 * asked for has passed, and fewer submits are under way at once from then on; each that is taken after that
 * lets one more through.
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

  /** How long nobody sends anything, from now; 0 or less where everybody may. */
  get leftMs(): number {
    return this.#pausedUntilMs - this.#deps.clock.monotonicMs();
  }

  /** Waits until a request may be sent. @throws the signal's reason */
  async pause(signal: AbortSignal): Promise<void> {
    for (let ms = this.leftMs; ms > 0; ms = this.leftMs) await this.#deps.clock.sleep(ms, signal);
  }

  /** Waits for a place among the submits under way; `leave` gives it back. @throws the signal's reason */
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

  /** The service answered 429. @param retryAfterMs what it asked for; null where it did not say */
  slowDown(retryAfterMs: number | null): void {
    this.#refusals += 1;
    const pauseMs = backoffMs(RATE_LIMITED, this.#refusals, retryAfterMs, this.#deps.random);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#deps.clock.monotonicMs() + pauseMs);
    this.#deps.onPause?.(pauseMs);
    this.#width = Math.max(1, Math.floor(Math.min(this.#width, this.#underWay) / 2));
  }

  /** The service answered something else than 429: the next 429 begins with a short pause again. */
  answered(): void {
    this.#refusals = 0;
  }

  /** The service took a submit. */
  speedUp(): void {
    this.#refusals = 0;
    this.#width += 1;
    this.#line.wakeOne();
  }
}
