import { isoTime } from "../../lib/clock.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { SubmitReply, UnknownReply } from "../../providers/provider.ts";
import type { IntentTerms } from "../../task/intent.ts";
import { type CompletionTimes, type Line, NEVER_SEEN } from "../../task/line.ts";
import type { EndedState } from "../polling/wait.ts";
import type { TaskDeps } from "./deps.ts";
import type { HeldTask } from "./held.ts";

/** A reply to an attempt at one of a task's requests. */
export interface AttemptReply {
  request: number;
  attempt: string;
  reply: SubmitReply;
  /** Whether it was given up at its time limit. */
  isOverTime?: boolean;
}

/** Records the reply to an attempt. @returns whether it is on the disk */
export function recordReply(
  heldTask: HeldTask,
  { request, attempt, reply, isOverTime = false }: AttemptReply,
  { clock }: Pick<TaskDeps, "clock">,
): Promise<boolean> {
  const of = { at: isoTime(clock.now()), request, attempt };
  switch (reply.outcome) {
    case "accepted":
      return heldTask.record({ type: "accepted", ...of, taskId: reply.taskId });
    case "made": {
      const { usage, savedPath, seeds } = reply;
      const facts = {
        ...(usage && { usage }),
        ...(savedPath && { kept: savedPath }),
        ...(seeds && { seeds }),
      };
      return heldTask.record({ type: "completed", ...of, urls: [], ...NEVER_SEEN, ...facts });
    }
    case "refused": {
      const { type, key, message, wording, details } = reply.error;
      return heldTask.record({
        type: "refused",
        ...of,
        error: { type, key, message, ...(wording.hint !== undefined && { hint: wording.hint }), ...details },
      });
    }
    case "rate_limited":
    case "not_sent":
      return heldTask.record({ type: "waiting", ...of, why: reply.error?.message ?? "it was not sent" });
    case "unknown": {
      const { intent } = heldTask.task;
      const { why, excerpt, savedPath } = reply;
      if (intent.isPaid)
        return heldTask.record({
          type: "unknown",
          ...of,
          why,
          ...(excerpt && { excerpt }),
          ...(savedPath && { kept: savedPath }),
        });
      return heldTask.record({
        type: "failed",
        ...of,
        errorCode: null,
        why: isOverTime ? overTime(reply, intent) : `${why}.`,
        charged: "no",
      });
    }
  }
}

function overTime({ isStopped }: UnknownReply, { requestMs }: IntentTerms): string {
  const limit = `it took longer than ${formatDuration(requestMs)}. Allow more with the setting generatorTimeout.`;
  return isStopped ? limit : `${limit} It may still be at work on it for a while.`;
}

/** The line about a job whose end was polled. */
export function endLine(
  end: EndedState,
  { request, attempt }: Pick<AttemptReply, "request" | "attempt">,
  at: string,
  times: CompletionTimes = NEVER_SEEN,
): Line<"completed" | "failed"> {
  const of = { at, request, attempt };
  if (end.status === "failed") {
    const { status: _, ...facts } = end;
    return { type: "failed", ...of, ...facts };
  }
  const { urls, usage, seeds } = end;
  const seen = { seenMs: whole(times.seenMs), pendingMs: whole(times.pendingMs) };
  return { type: "completed", ...of, urls, ...seen, ...(usage && { usage }), ...(seeds && { seeds }) };
}

/** Whole milliseconds for the record; null if the task's age was not known. */
function whole(ms: number | null): number | null {
  return ms !== null && Number.isFinite(ms) ? Math.round(ms) : null;
}
