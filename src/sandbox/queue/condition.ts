import type { GeneratorFailure } from "../../generators/generator.ts";
import type { RequestEnd } from "./request-end.ts";

export type AccountKey = Extract<GeneratorFailure, { kind: "account" }>["key"];

/** Whether a queue sends requests. Times are of the monotonic clock, in milliseconds. */
export type Condition =
  | { name: "open" }
  /** The generator cannot be reached, or is busy. Nothing is used up; the same task is sent again. */
  | { name: "waiting"; detail: string; untilMs: number; failures: number }
  /** The account is refused: every request would be, until the user has mended it. */
  | { name: "refused"; key: AccountKey; detail: string; untilMs: number; failures: number }
  /** Nothing new is begun. */
  | { name: "closing" };

/** The first pause and the longest one, in milliseconds; each is twice as long as the one before. */
const PAUSES = {
  unreachable: { firstMs: 1_000, mostMs: 30_000 },
  busy: { firstMs: 1_000, mostMs: 20_000 },
  account: { firstMs: 30_000, mostMs: 300_000 },
} as const;

/** The condition of a queue after a request has ended. */
export function conditionAfter(end: RequestEnd, before: Condition, nowMs: number): Condition {
  if (before.name === "closing" || end.kind === "given up") return before;
  if (end.kind !== "error") return { name: "open" };
  const { failure, detail } = end;
  switch (failure.kind) {
    case "refused":
    case "lost":
      return { name: "open" };
    case "unreachable":
      return { name: "waiting", detail, ...paused(failure.kind, before, nowMs) };
    case "busy": {
      const pause = paused(failure.kind, before, nowMs);
      const untilMs = failure.retryAfterMs === null ? pause.untilMs : nowMs + failure.retryAfterMs;
      return { name: "waiting", detail, ...pause, untilMs };
    }
    case "account":
      return { name: "refused", key: failure.key, detail, ...paused(failure.kind, before, nowMs) };
  }
}

function paused(kind: keyof typeof PAUSES, before: Condition, nowMs: number) {
  const failures = "failures" in before ? before.failures + 1 : 1;
  const { firstMs, mostMs } = PAUSES[kind];
  return { failures, untilMs: nowMs + Math.min(mostMs, firstMs * 2 ** (failures - 1)) };
}
