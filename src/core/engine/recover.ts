import { isoTime } from "../../lib/clock.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import type { SubmitReply, UnknownReply } from "../../providers/provider.ts";
import { ENDED_MEANWHILE } from "../../store/ledger.ts";
import type { RequestState } from "../../task/task.ts";
import { POLICY } from "../limits/policy.ts";
import type { TaskDeps } from "./deps.ts";
import type { HeldTask } from "./held.ts";
import { jobOf } from "./jobs.ts";
import { recordReply } from "./reply-lines.ts";
import { askedLater, timeLimit } from "./send.ts";
import { withinLimit } from "./time-limit.ts";

/**
 * Finds out what came of the requests that a process had submitted before it ended: a reply may have arrived to its last byte.
 * @returns why that cannot be found out now, if the provider can tell later; null if it is recorded
 */
export async function recoverRequests(held: HeldTask, deps: TaskDeps): Promise<ImggenError | null> {
  for (const [index, { state }] of held.task.requests.entries()) {
    const stop = state === "started" ? await recoverRequest(held, index, deps) : null;
    if (stop !== null) return stop;
  }
  return null;
}

/** As `recoverRequests`, for one of the requests. */
export async function recoverRequest(
  held: HeldTask,
  request: number,
  deps: TaskDeps,
): Promise<ImggenError | null> {
  const { connection, ledger, signal } = deps;
  const { id } = held.task;
  const { taskId, isPaid, requestMs } = held.task.intent;
  const { attempt: open, tries } = held.task.requests[request] as RequestState;
  if (open === null) return null;
  const attempt = open.name;
  const job = jobOf(held.task, request, attempt, ledger.work);
  const onProgress = (share: number) =>
    deps.onProgress({ type: "progress", taskId: taskId ?? id, share, waiting: null });
  const reply = await withinLimit(requestMs, timeLimit(requestMs), deps, async (limited) =>
    connection.provider.recover?.(job, { signal: limited, onProgress }),
  );
  // It stays as it is for the next run: nothing has ended it.
  if (signal.aborted && (reply === null || isStillAtWork(reply)))
    return interruptedError(signal, held.charged);
  if (reply?.outcome === "unknown" && reply.isAskable) return askedLater(held, reply, deps);
  const kept = ledger.work.hasReply(id, request, attempt) ? job.folder : null;
  const known = reply ?? { ...LOST, kept };
  const isAgain = known.outcome === "unknown" && !isPaid && tries < POLICY.submit.lost.attempts;
  if (isAgain)
    await held.record({ type: "unknown", at: isoTime(deps.clock.now()), why: known.why, request, attempt });
  else await recordReply(held, { request, attempt, reply: known }, deps);
  return null;
}

function isStillAtWork(reply: SubmitReply): boolean {
  return reply.outcome === "unknown" && reply.isStopped === false;
}

const LOST: UnknownReply = { outcome: "unknown", why: ENDED_MEANWHILE, excerpt: null };
