import { BIN_EDGES_MS } from "./ages.ts";
import { estimate } from "./estimate.ts";
import { withFallback } from "./fallback.ts";
import { defaultSchedule, type PollingSchedule } from "./fixed.ts";
import { type CompletionInterval, weigh } from "./history.ts";
import { interpolate } from "./interpolate.ts";
import { planPolls } from "./plan.ts";

const SHORTEST_DELAY_MS = 150;

/**
 * Looks that are dense where tasks have completed before, and sparse elsewhere. The automatic schedule where there
 * is no history, or the task's age is not known.
 *
 * After 20 tasks of 8 s or 20 s, give or take a quarter, a completion is seen in 0.33 of the reference client's
 * mean delay (section 4.2: 1.5 s), with 1.43 of its looks. If the service then becomes 2 or 3 times slower, in
 * 0.7 and 1.1 of it. Tasks of 45 s use up what any 180 s may have of looks: 0.60 of the delay, 0.87 of the looks;
 * 1.15 and 1.8 of the delay where they become slower. `test/bench/polling.js` measures this.
 *
 * @param history Past tasks of the same kind, oldest first. The last 50 are plenty.
 */
export function learnedSchedule(history: readonly CompletionInterval[]): PollingSchedule {
  const past = weigh(history);
  if (past.size === 0) return defaultSchedule;
  const estimated = estimate(past);
  const plan = planPolls(estimated, withFallback(estimated, past.size));
  const looksBy = (ageMs: number) => interpolate(BIN_EDGES_MS, plan, ageMs);
  const ageAt = (looks: number) => interpolate(plan, BIN_EDGES_MS, looks);
  return {
    nextDelayMs: (elapsedMs) =>
      Number.isFinite(elapsedMs)
        ? Math.max(SHORTEST_DELAY_MS, ageAt(looksBy(elapsedMs) + 1) - elapsedMs)
        : defaultSchedule.nextDelayMs(elapsedMs),
  };
}
