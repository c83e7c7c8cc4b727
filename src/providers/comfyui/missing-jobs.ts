import type { Clock } from "../../lib/clock.ts";

/** For so long the server must answer that it has no such job before it counts as gone, in milliseconds. */
const MISSING_MS = 30_000;

/**
 * Jobs that the server says it does not have. One whose submit is still on its way through a proxy, or whose server is
 * loading its queue, is not there yet: one such answer proves nothing.
 */
export class MissingJobs {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** The time of the first such answer in a row, by the job's id. */
  readonly #since = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Starts anew: the server has the job, or did not answer. */
  reset(id: string): void {
    this.#since.delete(id);
  }

  /** Notes that the job was taken out of the queue: the next answer without it is certain. */
  removed(id: string): void {
    this.#since.set(id, Number.NEGATIVE_INFINITY);
  }

  /** Notes an answer without the job. @returns whether the job is gone */
  isGone(id: string): boolean {
    const now = this.#clock.monotonicMs();
    const since = this.#since.get(id) ?? now;
    this.#since.set(id, since);
    return now - since >= MISSING_MS;
  }
}
