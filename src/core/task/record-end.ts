import { isoTime } from "../../lib/clock.ts";
import { formatDuration } from "../../lib/duration.ts";
import { type CompletionTimes, NEVER_SEEN, type OfRequest, type TaskEvent } from "../../task/lifecycle.ts";
import { workOf } from "../../task/record.ts";
import type { Work } from "../../task/work.ts";
import type { TaskDeps } from "../deps.ts";
import type { EndedState } from "../polling/wait.ts";
import type { SubmitResult } from "./submit-once.ts";
import type { TaskWriter } from "./task-writer.ts";

/** Records the end of a request. */
export async function recordEnd(
  writer: TaskWriter,
  request: number,
  result: SubmitResult,
  { clock }: Pick<TaskDeps, "clock">,
): Promise<void> {
  const work = workOf(writer.record);
  const at = isoTime(clock.now());
  switch (result.outcome) {
    case "accepted":
      await writer.write({ type: "accepted", at, taskId: result.taskId, request });
      return;
    case "made": {
      const { usage } = result;
      const facts = { urls: [], seenMs: null, pendingMs: null, ...(usage && { usage }) };
      await writer.write({ type: "completed", at, ...facts, request });
      return;
    }
    case "refused": {
      const { type, key, message, hint } = result.error;
      const error = { type, key, message, ...(hint !== null && { hint }) };
      await writer.write({ type: "refused", at, error, request });
      return;
    }
    case "not_sent":
      await writer.write({ type: "not_sent", at, why: result.error.message, request });
      return;
    case "unknown": {
      const { why, excerpt, kept } = result.reply;
      if (work.isPaid)
        await writer.write({
          type: "unknown",
          at,
          why,
          ...(excerpt && { excerpt }),
          ...(kept && { kept }),
          request,
        });
      else
        await writer.write({
          type: "failed",
          at,
          errorCode: null,
          why: whyFailed(result, work),
          charged: "no",
          request,
        });
    }
  }
}

/** Ends every request of a task in the same way: one that has made nothing, and of which nothing more is sent. */
export async function endAll(
  writer: TaskWriter,
  result: Extract<SubmitResult, { outcome: "refused" | "not_sent" }>,
  deps: Pick<TaskDeps, "clock">,
): Promise<void> {
  for (const request of writer.record.requests.keys()) await recordEnd(writer, request, result, deps);
}

function whyFailed({ gaveUp, reply }: Extract<SubmitResult, { outcome: "unknown" }>, work: Work): string {
  if (gaveUp !== "time limit") return `${reply.why}.`;
  const limit = `it took longer than ${formatDuration(work.requestMs)}. Allow more with --generator-timeout.`;
  return reply.isStopped ? limit : `${limit} It may still be at work on it for a while.`;
}

/**
 * What a task's file says of a request whose end was polled.
 * @param request null at the hosted service, whose tasks have one
 */
export function endEvent(
  task: EndedState,
  request: number | null,
  at: string,
  times: CompletionTimes = NEVER_SEEN,
): TaskEvent {
  const ofRequest: OfRequest = request === null ? {} : { request };
  if (task.status === "failed") {
    const { status: _, ...facts } = task;
    return { type: "failed", at, ...facts, ...ofRequest };
  }
  const { urls, usage } = task;
  const seen = { seenMs: whole(times.seenMs), pendingMs: whole(times.pendingMs) };
  return { type: "completed", at, urls, ...seen, ...(usage && { usage }), ...ofRequest };
}

/** Whole milliseconds for the record; null if the task's age was not known. */
function whole(ms: number | null): number | null {
  return ms !== null && Number.isFinite(ms) ? Math.round(ms) : null;
}
