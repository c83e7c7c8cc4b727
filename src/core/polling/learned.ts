import { BIN_EDGES_MS } from "./bins.ts";
import { estimate } from "./estimate.ts";
import { withFallback } from "./fallback.ts";
import { defaultSchedule, type PollingSchedule } from "./fixed.ts";
import { type CompletionInterval, weigh } from "./history.ts";
import { interpolate } from "./interpolate.ts";
import { planPolls } from "./plan.ts";

const SHORTEST_DELAY_MS = 150;

/** A schedule that says when polls are due, so that tasks which begin together can be polled at different ages. */
export interface LearnedSchedule extends PollingSchedule {
  /** The age at which this many polls are due, fractions included; milliseconds. 1 is the first poll. */
  ageAt(polls: number): number;
}

const WITHOUT_HISTORY: LearnedSchedule = {
  ...defaultSchedule,
  ageAt: (polls) => polls * defaultSchedule.nextDelayMs(0),
};

/**
 * Polls often at ages at which past tasks completed, and rarely at others. The default schedule if there is no history or
 * the task's age is not known.
 *
 * @param history past tasks of the same kind, oldest first; the last 50 are plenty
 */
export function learnedSchedule(history: readonly CompletionInterval[]): LearnedSchedule {
  const past = weigh(history);
  if (past.size === 0) return WITHOUT_HISTORY;
  const estimated = estimate(past);
  const plan = planPolls(estimated, withFallback(estimated, past.size));
  const dueBy = (ageMs: number) => interpolate(BIN_EDGES_MS, plan, ageMs);
  const ageAt = (polls: number) => interpolate(plan, BIN_EDGES_MS, polls);
  return {
    ageAt: (polls) => Math.max(SHORTEST_DELAY_MS, ageAt(polls)),
    nextDelayMs: (elapsedMs) =>
      Number.isFinite(elapsedMs)
        ? Math.max(SHORTEST_DELAY_MS, ageAt(dueBy(elapsedMs) + 1) - elapsedMs)
        : defaultSchedule.nextDelayMs(elapsedMs),
  };
}
