import { type Clock, isoTime } from "../../lib/clock.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import type { TaskWriter } from "./task-writer.ts";

/**
 * The record of a submit's attempts, so that another process knows later whether the last one may have been sent.
 * `submit.ts` records each attempt before it is sent, and each wait before it begins.
 */
export interface Attempts {
  /** An attempt is about to be sent. @returns why it must not be; null if it may */
  begin(): Promise<ImggenError | null>;
  /** The service answered 429. @param waitMs how long it may be until the next attempt */
  rateLimited(why: string, waitMs: number): Promise<void>;
}

/** Room for the disk, and for the clocks of machines that differ. */
const MARGIN_MS = 30_000;

/** For how long a claim covers one attempt. @param submitMs how long one may take */
export function coverMs(submitMs: number): number {
  return submitMs + MARGIN_MS;
}

/** The attempts at a task of the ledger. */
export class RecordedAttempts implements Attempts {
  readonly #writer: TaskWriter;
  readonly #clock: Pick<Clock, "now">;
  readonly #submitMs: number;

  /** @param submitMs how long one attempt may take */
  constructor(writer: TaskWriter, clock: Pick<Clock, "now">, submitMs: number) {
    this.#writer = writer;
    this.#clock = clock;
    this.#submitMs = submitMs;
  }

  /** Writes where the disk does not say yet that it may be sent now: the first attempt is covered by the intent. */
  async begin(): Promise<ImggenError | null> {
    const now = this.#clock.now();
    if (now + this.#submitMs <= this.#coveredUntilMs()) return null;
    const until = isoTime(now + coverMs(this.#submitMs));
    return this.#writer.announce({ type: "submitting", at: isoTime(now), until });
  }

  #coveredUntilMs(): number {
    const { state } = this.#writer.record;
    if (state.name !== "intent" || state.until === null) return Number.NEGATIVE_INFINITY;
    return Date.parse(state.until);
  }

  async rateLimited(why: string, waitMs: number): Promise<void> {
    const now = this.#clock.now();
    const until = isoTime(now + waitMs + MARGIN_MS);
    await this.#writer.write({ type: "rate_limited", at: isoTime(now), why, until });
  }
}
