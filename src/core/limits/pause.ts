import { backoffMs, type RetryRule } from "../../api/retry.ts";
import type { Clock } from "../../lib/clock.ts";
import { Slots } from "../../lib/concurrency.ts";
import { errorText } from "../../lib/error-text.ts";
import { failedPoll } from "../../providers/failures.ts";
import type { PollReply } from "../../providers/provider.ts";
import { POLICY } from "./policy.ts";

export interface PauseDeps {
  clock: Pick<Clock, "monotonicMs" | "sleep">;
  random: () => number;
  /** Called when all submits or all polls are paused. `ms`: duration. `why`: reason, as a sentence. */
  onPause?: ((ms: number, why: string) => void) | undefined;
}

/** A pause of all submits or all polls after a 429. */
export class Pause {
  readonly #rule: RetryRule;
  readonly #deps: PauseDeps;
  #endMs = 0;
  #refusals = 0;

  constructor(rule: RetryRule, deps: PauseDeps) {
    this.#rule = rule;
    this.#deps = deps;
  }

  /** Remaining time in milliseconds; 0 or less if there is no pause. */
  get remainingMs(): number {
    return this.#endMs - this.#deps.clock.monotonicMs();
  }

  /** @param retryAfterMs null if the reply has no Retry-After; consecutive 429 replies then lengthen the pause */
  extend(retryAfterMs: number | null, why: string): void {
    this.#refusals += 1;
    const ms = backoffMs(this.#rule, this.#refusals, retryAfterMs, this.#deps.random);
    this.#endMs = Math.max(this.#endMs, this.#deps.clock.monotonicMs() + ms);
    this.#deps.onPause?.(ms, why);
  }

  /** Makes the next pause short again, after a reply other than 429. */
  reset(): void {
    this.#refusals = 0;
  }
}

/** Limits the number of concurrent polls, which are made in order of arrival, and pauses all polls after a 429. */
export class PollLimit {
  readonly #pause: Pause;
  readonly #clock: PauseDeps["clock"];
  readonly #slots = new Slots(POLICY.poll.maxConcurrent);

  constructor(deps: PauseDeps) {
    this.#pause = new Pause(POLICY.poll.rateLimited, deps);
    this.#clock = deps.clock;
  }

  /** Polls once, after any pause. Never throws. @param timeoutMs maximum pause in milliseconds; undefined for none */
  async poll(
    poll: () => Promise<PollReply>,
    timeoutMs: number | undefined,
    signal: AbortSignal,
  ): Promise<PollReply> {
    for (;;) {
      const { remainingMs } = this.#pause;
      if (timeoutMs !== undefined && remainingMs > timeoutMs)
        return failedPoll("the service is busy (HTTP 429)", { rateLimited: true, retryAfterMs: remainingMs });
      if (remainingMs > 0) await this.#clock.sleep(remainingMs, signal).catch(() => {});
      if (signal.aborted) return failedPoll("interrupted");
      // A paused poll must not occupy a slot, so the reply is null if a pause began during the wait for a slot.
      const reply = await this.#slots.run(async () =>
        signal.aborted || this.#pause.remainingMs > 0
          ? null
          : this.#trackRateLimit(await poll().catch(unexpectedFailure)),
      );
      if (reply !== null) return reply;
    }
  }

  #trackRateLimit(reply: PollReply): PollReply {
    if (reply.outcome !== "retry") this.#pause.reset();
    else if (reply.rateLimited) this.#pause.extend(reply.retryAfterMs, `${reply.why}.`);
    return reply;
  }
}

function unexpectedFailure(error: unknown): PollReply {
  return failedPoll(errorText(error), { connectionError: error instanceof Error ? error : null });
}
