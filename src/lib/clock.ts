import { setTimeout } from "node:timers/promises";

export interface Clock {
  /** Wall-clock time in milliseconds since the epoch, for records. It can jump, so deadlines must not use it. */
  now(): number;
  /** Milliseconds since an arbitrary start, for deadlines, because this clock never jumps. */
  monotonicMs(): number;
  /** Rejects with the signal's reason if the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

// Maximum delay of a Node timer. A longer timer fires at once.
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  async sleep(ms, signal) {
    const end = performance.now() + ms;
    for (let remainingMs = ms; remainingMs > 0; remainingMs = end - performance.now()) {
      // Rounds up, because a timer that fires up to a millisecond early would make a second timer necessary.
      const delayMs = Math.min(Math.ceil(remainingMs) + 1, MAX_TIMER_MS);
      await setTimeout(delayMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
    signal?.throwIfAborted();
  },
};

export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
