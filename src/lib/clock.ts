import { setTimeout } from "node:timers/promises";

/** Time as a capability: code that waits is given a clock, so that a test can run hours in a moment. */
export interface Clock {
  /** Wall-clock time, milliseconds since the epoch: for records that people read, never for deadlines. */
  now(): number;
  /** Milliseconds from an arbitrary start that never jumps: the only clock that deadlines use. */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

// Longer delays overflow Node's timers and fire at once.
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  async sleep(ms, signal) {
    const end = performance.now() + ms;
    for (let remainingMs = ms; remainingMs > 0; remainingMs = end - performance.now()) {
      // Rounded up: timers fire up to a millisecond early, and most of them would have to be set again.
      const delayMs = Math.min(Math.ceil(remainingMs) + 1, MAX_TIMER_MS);
      // The timer rejects with its own error, not with the signal's reason.
      await setTimeout(delayMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
    signal?.throwIfAborted();
  },
};

/** The moment as ISO 8601 text in UTC, as records and JSON output carry it. */
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
