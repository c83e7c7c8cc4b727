import { backoffMs, type RetryRule } from "../../api/retry.ts";
import type { Clock } from "../../lib/clock.ts";
import { Slots } from "../../lib/concurrency.ts";
import { errorText } from "../../lib/error-text.ts";
import { failedPoll } from "../../providers/failures.ts";
import type { PollReply } from "../../providers/provider.ts";
import { POLICY } from "./policy.ts";

export interface PauseDeps {
  clock: Pick<Clock, "monotonicMs" | "sleep">;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Called when all submits, or all polls, are paused, with the duration in milliseconds, and a sentence that says why. */
  onPause?: ((ms: number, why: string) => void) | undefined;
}

/** A pause of all requests of one kind, after a 429. */
export class Pause {
  readonly #rule: RetryRule;
  readonly #deps: PauseDeps;
  #untilMs = 0;
  #refusals = 0;

  constructor(rule: RetryRule, deps: PauseDeps) {
    this.#rule = rule;
    this.#deps = deps;
  }

  /** Remaining time in milliseconds; 0 or less if there is no pause. */
  get leftMs(): number {
    return this.#untilMs - this.#deps.clock.monotonicMs();
  }

  /** @param retryAfterMs null if the provider asked for no time: the pause is longer after each 429 in a row */
  extend(retryAfterMs: number | null, why: string): void {
    this.#refusals += 1;
    const ms = backoffMs(this.#rule, this.#refusals, retryAfterMs, this.#deps.random);
    this.#untilMs = Math.max(this.#untilMs, this.#deps.clock.monotonicMs() + ms);
    this.#deps.onPause?.(ms, why);
  }

  /** The next pause is short again, after a reply other than 429. */
  reset(): void {
    this.#refusals = 0;
  }
}

/** Limits the concurrency of polls, in the order in which they came, and pauses all of them after a 429. */
export class PollLimit {
  readonly #pause: Pause;
  readonly #clock: PauseDeps["clock"];
  readonly #slots = new Slots(POLICY.poll.maxConcurrent);

  constructor(deps: PauseDeps) {
    this.#pause = new Pause(POLICY.poll.rateLimited, deps);
    this.#clock = deps.clock;
  }

  /** Polls once. Never throws. @param timeoutMs a longer pause is not waited for; undefined: any is */
  async poll(
    poll: () => Promise<PollReply>,
    timeoutMs: number | undefined,
    signal: AbortSignal,
  ): Promise<PollReply> {
    for (;;) {
      const { leftMs } = this.#pause;
      if (timeoutMs !== undefined && leftMs > timeoutMs)
        return failedPoll("the service is busy (HTTP 429)", { rateLimited: true, retryAfterMs: leftMs });
      if (leftMs > 0) await this.#clock.sleep(leftMs, signal).catch(() => {});
      if (signal.aborted) return failedPoll("interrupted");
      // Null after a pause or a signal that came during the wait for a slot: pauses are waited for without one.
      const reply = await this.#slots.run(async () =>
        signal.aborted || this.#pause.leftMs > 0 ? null : this.#noted(await poll().catch(unexpectedFailure)),
      );
      if (reply !== null) return reply;
    }
  }

  #noted(reply: PollReply): PollReply {
    if (reply.outcome !== "retry") this.#pause.reset();
    else if (reply.rateLimited) this.#pause.extend(reply.retryAfterMs, `${reply.why}.`);
    return reply;
  }
}

function unexpectedFailure(error: unknown): PollReply {
  return failedPoll(errorText(error), { connectionError: error instanceof Error ? error : null });
}
