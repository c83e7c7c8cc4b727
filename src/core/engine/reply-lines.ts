import { isoTime } from "../../lib/clock.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { SubmitReply, UnknownReply } from "../../providers/provider.ts";
import type { IntentTerms } from "../../task/intent.ts";
import { type CompletionTimes, type Line, UNKNOWN_TIMES } from "../../task/line.ts";
import type { EndedState } from "../polling/wait.ts";
import type { ClaimedTask } from "./claimed-task.ts";
import type { TaskDeps } from "./deps.ts";

export interface AttemptReply {
  request: number;
  attempt: string;
  reply: SubmitReply;
  /** Whether the time limit ended the attempt. */
  isOverTime?: boolean;
}

/** Records the reply to an attempt. @returns whether the record is on disk */
export function recordReply(
  claimedTask: ClaimedTask,
  { request, attempt, reply, isOverTime = false }: AttemptReply,
  { clock }: Pick<TaskDeps, "clock">,
): Promise<boolean> {
  const ids = { at: isoTime(clock.now()), request, attempt };
  switch (reply.outcome) {
    case "accepted":
      return claimedTask.record({ type: "accepted", ...ids, taskId: reply.taskId });
    case "made": {
      const { usage, savedPath, seeds } = reply;
      const facts = {
        ...(usage && { usage }),
        ...(savedPath && { kept: savedPath }),
        ...(seeds && { seeds }),
      };
      return claimedTask.record({ type: "completed", ...ids, urls: [], ...UNKNOWN_TIMES, ...facts });
    }
    case "refused": {
      const { type, key, message, wording, details } = reply.error;
      return claimedTask.record({
        type: "refused",
        ...ids,
        error: { type, key, message, ...(wording.hint !== undefined && { hint: wording.hint }), ...details },
      });
    }
    case "rate_limited":
    case "not_sent":
      return claimedTask.record({ type: "waiting", ...ids, why: reply.error?.message ?? "it was not sent" });
    case "unknown": {
      const { intent } = claimedTask.task;
      const { why, excerpt, savedPath } = reply;
      if (intent.isPaid)
        return claimedTask.record({
          type: "unknown",
          ...ids,
          why,
          ...(excerpt && { excerpt }),
          ...(savedPath && { kept: savedPath }),
        });
      return claimedTask.record({
        type: "failed",
        ...ids,
        errorCode: null,
        why: isOverTime ? timeLimitReason(reply, intent) : `${why}.`,
        charged: "no",
      });
    }
  }
}

function timeLimitReason({ isStopped }: UnknownReply, { requestMs }: IntentTerms): string {
  const limit = `it took longer than ${formatDuration(requestMs)}. Allow more with the setting generatorTimeout.`;
  return isStopped ? limit : `${limit} The generator may still work on it for a while.`;
}

export function createEndLine(
  end: EndedState,
  { request, attempt }: Pick<AttemptReply, "request" | "attempt">,
  at: string,
  times: CompletionTimes = UNKNOWN_TIMES,
): Line<"completed" | "failed"> {
  const ids = { at, request, attempt };
  if (end.status === "failed") {
    const { status: _, ...facts } = end;
    return { type: "failed", ...ids, ...facts };
  }
  const { urls, usage, seeds } = end;
  const wholeTimes = { seenMs: toWholeMs(times.seenMs), pendingMs: toWholeMs(times.pendingMs) };
  return { type: "completed", ...ids, urls, ...wholeTimes, ...(usage && { usage }), ...(seeds && { seeds }) };
}

/** Rounds to whole milliseconds for the ledger; null if the task's age is unknown. */
function toWholeMs(ms: number | null): number | null {
  return ms !== null && Number.isFinite(ms) ? Math.round(ms) : null;
}
