import { setTimeout } from "node:timers/promises";

/** Injected into code that waits, so that tests need not wait. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch, for records. Never use it for deadlines. */
  now(): number;
  /** Milliseconds since an arbitrary start. Never jumps, so use it for deadlines. */
  monotonicMs(): number;
  /** Rejects with the signal's reason if the signal aborts. */
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
      // Rounded up, because timers fire up to a millisecond early and would have to be set again.
      const delayMs = Math.min(Math.ceil(remainingMs) + 1, MAX_TIMER_MS);
      await setTimeout(delayMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
    signal?.throwIfAborted();
  },
};

export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
