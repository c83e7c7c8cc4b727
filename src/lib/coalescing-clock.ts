import type { Clock } from "./clock.ts";

/** How much longer a sleep may become, as a fraction of it. */
const SLACK = 1 / 3;
/** How much longer a sleep may become, in milliseconds. */
const MOST_SLACK_MS = 50;

/**
 * A clock that coalesces timers: a sleep that would end shortly before another one ends together with it, if that makes
 * it at most 50 ms and at most a third longer. A process that waits for many things at once then wakes up less often
 * and needs much less processor time.
 */
export function coalescingClock(clock: Clock): Clock {
  const moments = new Set<number>();

  /** The first moment in this range at which a sleep ends; Infinity if there is none. */
  const firstIn = (fromMs: number, toMs: number) => {
    let first = Number.POSITIVE_INFINITY;
    for (const moment of moments) {
      if (moment >= fromMs && moment <= toMs) first = Math.min(first, moment);
    }
    return first;
  };

  return {
    ...clock,
    sleep(ms, signal) {
      if (ms <= 0) return clock.sleep(ms, signal);
      const now = clock.monotonicMs();
      for (const moment of moments) if (moment <= now) moments.delete(moment);
      const due = now + ms;
      const shared = firstIn(due, due + Math.min(ms * SLACK, MOST_SLACK_MS));
      if (Number.isFinite(shared)) return clock.sleep(shared - now, signal);
      moments.add(due);
      return clock.sleep(ms, signal);
    },
  };
}
