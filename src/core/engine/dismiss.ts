import { isoTime } from "../../lib/clock.ts";
import { UsageError } from "../../lib/error-types.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { Ledger } from "../../store/ledger.ts";
import { isAllGone, isUnknown, isUnsaved, openState, STATES, type Task } from "../../task/task.ts";
import { claimedBy } from "../errors.ts";
import { type HeldTask, holdTask } from "./held.ts";
import { type TaskReport, taskReport } from "./report.ts";

interface DismissReason {
  why: string;
  /** The ledger id of the task that was submitted in its place. */
  replacement: string | null;
}

/**
 * Dismisses a request of unknown outcome at the user's request, one that its provider no longer has, or a task that cannot be
 * continued: it is no longer tracked.
 * @param isStuck whether the task's provider is missing
 * @throws UsageError if its outcome is known; ClaimedError while another process is working on it; StateFolderError
 */
export async function dismissTask(
  task: Task,
  reason: DismissReason,
  ledger: Ledger,
  isStuck = false,
): Promise<TaskReport> {
  const mayDismiss = (each: Task) => isUnknown(each) || isAllGone(each) || (isStuck && isPending(each));
  const latest = await ledger.withLostReplies(task);
  if (STATES[latest.state].isOpen && ledger.isHeld(latest)) throw await claimedBy(latest, ledger);
  if (!mayDismiss(latest)) throw outcomeIsKnown(task);
  const heldTask = await holdTask(task, ledger, () => {});
  if (heldTask === "held") throw await claimedBy(task, ledger);
  if (heldTask === "ended") throw outcomeIsKnown(task);
  for (const line of ledger.lostReplyLines(heldTask.task)) await heldTask.record(line);
  if (!mayDismiss(heldTask.task)) {
    await heldTask.leave();
    throw outcomeIsKnown(heldTask.task);
  }
  await endPending(heldTask, reason, ledger);
  return dismissHeld(heldTask, reason, ledger);
}

/** As `dismissTask`, for one that this process holds, and whose outcome is still unknown. @throws StateFolderError */
export async function dismissHeld(
  heldTask: HeldTask,
  reason: DismissReason,
  ledger: Pick<Ledger, "clock">,
): Promise<TaskReport> {
  const at = isoTime(ledger.clock.now());
  await heldTask.record({ type: "dismissed", at, ...reason });
  // All its images that are still to be had are saved, now that none is waited for any longer.
  if (heldTask.task.state === "completed" && (!isUnsaved(heldTask.task) || isAllGone(heldTask.task)))
    await heldTask.record({ type: "saved", at, files: [...heldTask.task.files] });
  await heldTask.leave();
  // Every resume would find it again.
  if (heldTask.unwritten !== null) throw heldTask.unwritten;
  return taskReport(heldTask.task);
}

function isPending(task: Task): boolean {
  const { requests } = task;
  return (
    requests.some(({ state }) => state === "waiting" || state === "accepted" || state === "started") ||
    isUnsaved(task)
  );
}

/** Ends what waits, and what its provider has accepted: named again, that is polled once the provider is there. */
async function endPending(
  heldTask: HeldTask,
  { why }: DismissReason,
  { clock }: Pick<Ledger, "clock">,
): Promise<void> {
  const at = isoTime(clock.now());
  for (const [request, { state, attempt }] of heldTask.task.requests.entries()) {
    if (state === "waiting") await heldTask.record({ type: "not_sent", at, why, request });
    else if (
      (state === "accepted" || (state === "completed" && !heldTask.task.files[request])) &&
      attempt !== null
    )
      await heldTask.record({
        type: "failed",
        at,
        request,
        attempt: attempt.name,
        errorCode: null,
        why: `${why}.`,
      });
  }
}

function outcomeIsKnown(task: Task): UsageError {
  const { taskId, state } = taskReport(task);
  const hint = [
    "Only a request of unknown outcome can be dismissed, or one that its provider no longer has.",
    phrase`To see the status of each: ${action("history")}`,
  ];
  const status = openState(state) ?? state.replace("_", " ");
  return new UsageError(`Task ${taskId ?? task.id} cannot be dismissed: its status is ${status}.`, { hint });
}
