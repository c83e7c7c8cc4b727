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
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  async sleep(ms, signal) {
    const end = performance.now() + ms;
    for (let left = ms; left > 0; left = end - performance.now()) {
      await sleepOnce(Math.min(timerMs(left), LONGEST_TIMER_MS), signal);
    }
    signal?.throwIfAborted();
  },
};

/** Rounded up to whole milliseconds: timers fire up to one early, and `sleep` would have to set most of them again. */
function timerMs(ms: number): number {
  return Math.ceil(ms) + 1;
}

function sleepOnce(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** The moment as ISO 8601 text in UTC, as records and JSON output carry it. */
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
