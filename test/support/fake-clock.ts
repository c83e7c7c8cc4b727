import type { Clock } from "../../src/lib/clock.ts";

/** A clock of the test's own. */
export interface FakeClock extends Clock {
  /** Every wait that was asked for, milliseconds, in order. */
  readonly waits: readonly number[];
  /** Lets time pass, as work that takes time does. */
  advance(ms: number): void;
}

const START_MS = Date.UTC(2026, 0, 31, 12);

/** A clock whose waits take no time: each moves it on by its own length. */
export function fakeClock(startMs = START_MS): FakeClock {
  const clock = steppedClock(startMs);
  const waits: number[] = [];
  return {
    ...clock,
    waits,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      waits.push(ms);
      clock.advance(ms);
    },
  };
}

/** A clock that stands still until it is moved: a wait ends when `advance` has passed its end. */
export function steppedClock(startMs = START_MS): FakeClock {
  const waits: number[] = [];
  let sleepers: { endsAt: number; wake: () => void }[] = [];
  let elapsed = 0;
  return {
    waits,
    now: () => startMs + elapsed,
    monotonicMs: () => elapsed,
    advance(ms) {
      elapsed += ms;
      const due = sleepers.filter(({ endsAt }) => endsAt <= elapsed);
      sleepers = sleepers.filter(({ endsAt }) => endsAt > elapsed);
      for (const { wake } of due) wake();
    },
    sleep(ms, signal) {
      waits.push(ms);
      return new Promise((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        sleepers.push({ endsAt: elapsed + ms, wake: resolve });
      });
    },
  };
}

/** A clock whose short waits, as before a retry, take no time. A wait of more than a minute ends when it is moved there. */
export function hurriedClock(): FakeClock {
  const clock = steppedClock();
  return {
    ...clock,
    async sleep(ms, signal) {
      if (ms > 60_000) return clock.sleep(ms, signal);
      signal?.throwIfAborted();
      clock.advance(ms);
    },
  };
}
