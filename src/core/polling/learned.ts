import { BIN_EDGES_MS } from "./bins.ts";
import { estimate } from "./estimate.ts";
import { withFallback } from "./fallback.ts";
import { defaultSchedule, type PollingSchedule } from "./fixed.ts";
import { type CompletionInterval, weigh } from "./history.ts";
import { interpolate } from "./interpolate.ts";
import { LONGEST_DELAY_MS, planPolls, SHORTEST_DELAY_MS } from "./plan.ts";

/** A schedule whose first poll can be moved, so that a run's tasks are not all polled just too early. */
export interface LearnedSchedule extends PollingSchedule {
  /**
   * The same with the first poll at the age at which this many polls are due, fractions included: 1 is the schedule's
   * own. Nothing is moved for a task that is older than 150 ms already, nor without a history.
   */
  withFirstPollAt(polls: number): PollingSchedule;
}

/**
 * Polls often at ages at which past tasks completed, and rarely at others. The default schedule if there is no history or
 * the task's age is not known.
 *
 * @param history past tasks of the same kind, oldest first; the last 50 are plenty
 */
export function learnedSchedule(history: readonly CompletionInterval[]): LearnedSchedule {
  const past = weigh(history);
  if (past.size === 0) return { ...defaultSchedule, withFirstPollAt: () => defaultSchedule };
  const estimated = estimate(past);
  const plan = planPolls(estimated, withFallback(estimated, past.size));
  const dueBy = (ageMs: number) => interpolate(BIN_EDGES_MS, plan, ageMs);
  const ageAt = (polls: number) => interpolate(plan, BIN_EDGES_MS, polls);
  const nextDelayMs = (elapsedMs: number) =>
    Number.isFinite(elapsedMs)
      ? Math.max(SHORTEST_DELAY_MS, ageAt(dueBy(elapsedMs) + 1) - elapsedMs)
      : defaultSchedule.nextDelayMs(elapsedMs);
  return {
    nextDelayMs,
    withFirstPollAt(polls) {
      const firstMs = Math.min(LONGEST_DELAY_MS, ageAt(polls));
      return {
        // An older task may have been polled already, and that poll was one of the plan's.
        nextDelayMs: (elapsedMs) =>
          elapsedMs < SHORTEST_DELAY_MS
            ? Math.max(SHORTEST_DELAY_MS, firstMs - elapsedMs)
            : nextDelayMs(elapsedMs),
      };
    },
  };
}
