import type { QueueContext } from "./context.ts";
import type { AccountKey } from "./pause.ts";
import type { RequestEnd } from "./request-end.ts";

/** Whether a queue sends requests. Times are of the monotonic clock, in milliseconds. */
export type Condition =
  | { name: "open" }
  /** The generator cannot be reached, or is busy. Nothing is used up; the same task is sent again. */
  | { name: "waiting"; detail: string; untilMs: number; failures: number }
  /** The account is refused: every request would be, until the user has fixed it. */
  | { name: "refused"; key: AccountKey; detail: string; untilMs: number; failures: number }
  /** Nothing new is begun. */
  | { name: "closing" };

type AdmissionContext = Pick<QueueContext, "clock" | "pause" | "adoptsAll" | "onEvent">;

/** Whether a queue may send a request now: what its earlier requests say, and those of other processes. */
export class Admission {
  readonly #context: AdmissionContext;
  #condition: Condition = { name: "open" };
  /** Pauses of other processes that are not newer may be over. Milliseconds since the epoch. */
  #mendedAt: number;

  constructor(context: AdmissionContext) {
    this.#context = context;
    this.#mendedAt = context.clock.now();
  }

  get condition(): Condition {
    return this.#condition;
  }

  close(): void {
    this.#condition = { name: "closing" };
  }

  /** A new task is a reason to try a refused account again, though not at once. */
  onNewTask(): void {
    const condition = this.#condition;
    if (condition.name === "refused" && this.#context.clock.monotonicMs() >= condition.untilMs) {
      this.#condition = { name: "open" };
    }
  }

  /** A request is about to be sent: what other processes were told before it no longer matters. */
  onBegin(): void {
    this.#mendedAt = this.#context.clock.now();
  }

  /** For how long no request may be sent, in milliseconds; Infinity if time alone does not change that. */
  async delayMs(): Promise<number> {
    const { clock, pause, adoptsAll } = this.#context;
    const told = this.#condition.name === "open" ? await pause.since(this.#mendedAt) : null;
    if (told !== null) {
      this.#mendedAt = told.at;
      this.#change({ kind: "error", failure: { kind: "account", key: told.key }, detail: told.detail });
    }
    const condition = this.#condition;
    switch (condition.name) {
      case "open":
        return 0;
      case "closing":
        return Number.POSITIVE_INFINITY;
      case "refused":
        // A server tries the account again by itself. Elsewhere a new task does.
        if (!adoptsAll) return Number.POSITIVE_INFINITY;
        return Math.max(0, condition.untilMs - clock.monotonicMs());
      case "waiting":
        return Math.max(0, condition.untilMs - clock.monotonicMs());
    }
  }

  /** What the end of a request means for all others. */
  async onEnd(end: RequestEnd): Promise<void> {
    const { clock, pause } = this.#context;
    const after = this.#change(end);
    if (after.name === "refused") {
      this.#mendedAt = clock.now();
      // It saves the others a request; without it they are told no themselves.
      await pause.begin({ key: after.key, detail: after.detail, at: this.#mendedAt }).catch(() => {});
    } else if (after.name === "open") pause.end();
  }

  /** The disk refuses what the queue needs. */
  onDiskError(detail: string): void {
    this.#change({ kind: "error", failure: { kind: "unreachable" }, detail });
  }

  #change(end: RequestEnd): Condition {
    const before = this.#condition;
    const after = conditionAfter(end, before, this.#context.clock.monotonicMs());
    this.#condition = after;
    if (after.name !== before.name && (after.name === "refused" || after.name === "waiting")) {
      const key = after.name === "refused" ? after.key : null;
      this.#context.onEvent?.({ kind: "paused", key, detail: after.detail });
    }
    return after;
  }
}

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
