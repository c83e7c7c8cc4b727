import { isoTime } from "../../lib/clock.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import type { SubmitReply, UnknownReply } from "../../providers/provider.ts";
import { ENDED_MEANWHILE } from "../../store/ledger.ts";
import type { RequestState } from "../../task/task.ts";
import { POLICY } from "../limits/policy.ts";
import type { TaskDeps } from "./deps.ts";
import type { HeldTask } from "./held.ts";
import { createJob } from "./jobs.ts";
import { recordReply } from "./reply-lines.ts";
import { askedLater, timeLimit } from "./send.ts";
import { withinLimit } from "./time-limit.ts";

/**
 * Finds out what came of the requests that a process had submitted before it ended: a reply may have arrived to its last byte.
 * @returns why that cannot be found out now, if the provider can tell later; null if it is recorded
 */
export async function recoverRequests(heldTask: HeldTask, deps: TaskDeps): Promise<ImggenError | null> {
  for (const [index, { state }] of heldTask.task.requests.entries()) {
    const stop = state === "started" ? await recoverRequest(heldTask, index, deps) : null;
    if (stop !== null) return stop;
  }
  return null;
}

/** As `recoverRequests`, for one of the requests. */
export async function recoverRequest(
  heldTask: HeldTask,
  request: number,
  deps: TaskDeps,
): Promise<ImggenError | null> {
  const { connection, ledger, signal } = deps;
  const { id } = heldTask.task;
  const { taskId, isPaid, requestMs } = heldTask.task.intent;
  const { attempt: open, tries } = heldTask.task.requests[request] as RequestState;
  if (open === null) return null;
  const attempt = open.name;
  const job = createJob(heldTask.task, request, attempt, ledger.work);
  const onProgress = (share: number) =>
    deps.onProgress({ type: "progress", taskId: taskId ?? id, request, share, waiting: null });
  const reply = await withinLimit(requestMs, timeLimit(requestMs), deps, async (limited) =>
    connection.provider.recover?.(job, { signal: limited, onProgress }),
  );
  // It stays as it is for the next run: nothing has ended it.
  if (signal.aborted && (reply === null || isStillAtWork(reply)))
    return interruptedError(signal, heldTask.charged);
  if (reply?.outcome === "unknown" && reply.isAskable) return askedLater(heldTask, reply, deps);
  const keptFolder = ledger.work.hasReply(id, request, attempt) ? job.folder : null;
  const unknownReply = reply ?? { ...LOST, savedPath: keptFolder };
  const isAgain = unknownReply.outcome === "unknown" && !isPaid && tries < POLICY.submit.lost.attempts;
  if (isAgain)
    await heldTask.record({
      type: "unknown",
      at: isoTime(deps.clock.now()),
      why: unknownReply.why,
      request,
      attempt,
    });
  else await recordReply(heldTask, { request, attempt, reply: unknownReply }, deps);
  return null;
}

function isStillAtWork(reply: SubmitReply): boolean {
  return reply.outcome === "unknown" && reply.isStopped === false;
}

const LOST: UnknownReply = { outcome: "unknown", why: ENDED_MEANWHILE, excerpt: null };
