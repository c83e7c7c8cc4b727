import { isoTime } from "../../lib/clock.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import type { SubmitReply, UnknownReply } from "../../providers/provider.ts";
import { ENDED_MEANWHILE } from "../../store/ledger.ts";
import type { RequestState } from "../../task/task.ts";
import { POLICY } from "../limits/policy.ts";
import type { ClaimedTask } from "./claimed-task.ts";
import type { TaskDeps } from "./deps.ts";
import { createJob } from "./jobs.ts";
import { recordReply } from "./reply-lines.ts";
import { outcomePendingError, timeLimitError } from "./send.ts";
import { withinLimit } from "./time-limit.ts";

/**
 * Recovers the replies to an ended process's requests, from the disk or from the provider.
 * @returns an error if an outcome cannot be determined now
 */
export async function recoverRequests(claimedTask: ClaimedTask, deps: TaskDeps): Promise<ImggenError | null> {
  for (const [index, { state }] of claimedTask.task.requests.entries()) {
    const stop = state === "started" ? await recoverRequest(claimedTask, index, deps) : null;
    if (stop !== null) return stop;
  }
  return null;
}

export async function recoverRequest(
  claimedTask: ClaimedTask,
  request: number,
  deps: TaskDeps,
): Promise<ImggenError | null> {
  const { connection, ledger, signal } = deps;
  const { id } = claimedTask.task;
  const { taskId, isPaid, requestMs } = claimedTask.task.intent;
  const { attempt: lastAttempt, possibleSubmits } = claimedTask.task.requests[request] as RequestState;
  if (lastAttempt === null) return null;
  const attempt = lastAttempt.name;
  const job = createJob(claimedTask.task, request, attempt, ledger.work);
  const onProgress = (share: number) =>
    deps.onProgress({ type: "progress", taskId: taskId ?? id, request, share, waiting: null });
  const reply = await withinLimit(requestMs, timeLimitError(requestMs), deps, async (limitedSignal) =>
    connection.provider.recover?.(job, { signal: limitedSignal, onProgress }),
  );
  // Nothing is recorded, so that the next run can still recover the reply.
  if (signal.aborted && (reply === null || mayStillRun(reply)))
    return interruptedError(signal, claimedTask.charged);
  if (reply?.outcome === "unknown" && reply.isAskable) return outcomePendingError(claimedTask, reply, deps);
  const keptFolder = ledger.work.hasReply(id, request, attempt) ? job.folder : null;
  const unknownReply = reply ?? { ...LOST_REPLY, savedPath: keptFolder };
  const isRetried =
    unknownReply.outcome === "unknown" && !isPaid && possibleSubmits < POLICY.submit.lost.attempts;
  if (isRetried)
    await claimedTask.record({
      type: "unknown",
      at: isoTime(deps.clock.now()),
      why: unknownReply.why,
      request,
      attempt,
    });
  else await recordReply(claimedTask, { request, attempt, reply: unknownReply }, deps);
  return null;
}

function mayStillRun(reply: SubmitReply): boolean {
  return reply.outcome === "unknown" && reply.isStopped === false;
}

const LOST_REPLY: UnknownReply = { outcome: "unknown", why: ENDED_MEANWHILE, excerpt: null };
