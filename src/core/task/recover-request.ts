import type { ImggenError } from "../../lib/error-types.ts";
import type { Job, SubmitReply, UnknownReply } from "../../providers/provider.ts";
import type { WorkFolders } from "../../store/work-folders.ts";
import { ENDED_MEANWHILE, triesOf, workOf } from "../../task/record.ts";
import type { Work } from "../../task/work.ts";
import { providerName, type TaskDeps } from "../deps.ts";
import { interruptedError, PendingError } from "../errors.ts";
import { jobOf } from "./jobs.ts";
import { recordEnd } from "./record-end.ts";
import { outcomeUnknown, type SubmitResult } from "./submit-once.ts";
import type { TaskWriter } from "./task-writer.ts";
import { withinLimit } from "./time-limit.ts";

/** How often a request that costs nothing is sent, at most: twice more after its reply was lost. */
export const MOST_TRIES = 3;

/**
 * Finds out what came of a request whose process ended: its reply may have arrived to the last byte.
 * @returns why that cannot be found out now, where the provider can tell later
 */
export async function recoverRequest(
  writer: TaskWriter,
  index: number,
  deps: TaskDeps,
): Promise<ImggenError | null> {
  const { connection, ledger, signal } = deps;
  const work = workOf(writer.record);
  const job = jobOf(writer.record, index, ledger.work);
  const onProgress = (share: number) =>
    deps.onProgress({ type: "progress", taskId: work.taskId, share, waiting: null });
  // What is still at work is waited for, and is this process's until then.
  await takeOver(writer, index, work);
  const reply = await withinLimit(work.requestMs, deps, async (limited) =>
    connection.provider.recover?.(job, { signal: limited, onProgress }),
  );
  // It stays as it is for the next run: nothing has ended it.
  if (signal.aborted && (reply === null || isStillAtWork(reply))) return null;
  if (reply?.outcome === "unknown" && reply.isAskable) return askedLater(writer, reply, deps);
  const result = resultOf(reply ?? endedMeanwhile(job, writer.record.id, ledger.work));
  const tries = triesOf(writer.record, index);
  const isAgain =
    result.outcome === "not_sent" || (result.outcome === "unknown" && !work.isPaid && tries < MOST_TRIES);
  if (isAgain) await writer.wait(index, result.error.message, result.outcome === "unknown");
  else await recordEnd(writer, index, result, deps);
  return null;
}

/** The request stays as it is: its provider knows what became of it, and cannot be asked now. */
export function askedLater(writer: TaskWriter, { why }: UnknownReply, deps: TaskDeps): ImggenError {
  if (deps.signal.aborted) return interruptedError(deps.signal, writer.charged);
  const { taskId } = workOf(writer.record);
  const name = providerName(deps.connection);
  const message = `Whether ${name} has task ${taskId} could not be asked: ${why}.`;
  return new PendingError(message, { charged: writer.charged });
}

function isStillAtWork(reply: SubmitReply): boolean {
  return reply.outcome === "unknown" && reply.isStopped === false;
}

/** Takes over a request that is still on its way, for as long as it may take. */
async function takeOver(writer: TaskWriter, index: number, work: Work): Promise<void> {
  const state = writer.record.requests[index];
  if (state?.name === "started") await writer.takeOver(index, work.requestMs);
}

const LOST: UnknownReply = { outcome: "unknown", why: ENDED_MEANWHILE, excerpt: null };

/** The reply of a request whose process ended. It names the folder of what had arrived: that may be paid for. */
function endedMeanwhile({ index, folder }: Job, id: string, work: WorkFolders): UnknownReply {
  return { ...LOST, kept: work.isKept(id, index) ? folder : null };
}

/** The end of a submit from the one reply that there will be. */
function resultOf(reply: SubmitReply): SubmitResult {
  switch (reply.outcome) {
    case "unknown":
      return { outcome: "unknown", error: outcomeUnknown(reply), reply, gaveUp: null };
    case "rate_limited":
      return { outcome: "not_sent", error: reply.error };
    case "not_sent":
      return { outcome: "not_sent", error: reply.error ?? outcomeUnknown(LOST) };
    default:
      return reply;
  }
}
