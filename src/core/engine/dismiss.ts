import { isoTime } from "../../lib/clock.ts";
import { UsageError } from "../../lib/error-types.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { Ledger } from "../../store/ledger.ts";
import {
  hasSavableImage,
  isAllGone,
  isGone,
  isUnknown,
  isUnsaved,
  openState,
  requestFiles,
  STATES,
  type Task,
} from "../../task/task.ts";
import { claimedError } from "../errors.ts";
import { type ClaimedTask, claimTask } from "./claimed-task.ts";
import { type TaskReport, taskReport } from "./report.ts";

interface DismissReason {
  why: string;
  /** Ledger id of the task that was submitted instead; null if there is none. */
  replacement: string | null;
}

/**
 * Dismisses a task, so that imggen no longer tracks it. The task's outcome must be unknown, or its provider must have
 * lost the task or be missing (`isStuck`).
 * @throws UsageError if the outcome is known, ClaimedError if another process works on the task, StateFolderError
 */
export async function dismissTask(
  task: Task,
  reason: DismissReason,
  ledger: Ledger,
  isStuck = false,
): Promise<TaskReport> {
  const canBeDismissed = (each: Task) => isUnknown(each) || isAllGone(each) || (isStuck && isPending(each));
  const latest = await ledger.withLostReplies(task);
  if (STATES[latest.state].isOpen && ledger.isClaimed(latest)) throw await claimedError(latest, ledger);
  if (!canBeDismissed(latest)) throw outcomeIsKnown(task);
  const claimedTask = await claimTask(task, ledger, () => {});
  if (claimedTask === "claimed") throw await claimedError(task, ledger);
  if (claimedTask === "ended") throw outcomeIsKnown(task);
  for (const line of ledger.lostReplyLines(claimedTask.task)) await claimedTask.record(line);
  if (!canBeDismissed(claimedTask.task)) {
    await claimedTask.release();
    throw outcomeIsKnown(claimedTask.task);
  }
  await endUnfinished(claimedTask, reason, ledger, isStuck);
  return dismissClaimed(claimedTask, reason, ledger, isStuck);
}

/**
 * Dismisses the requests of unknown outcome of a claimed task, and releases the claim. A task with an image that can
 * still be saved stays open, unless its provider is missing (`isStuck`).
 * @throws StateFolderError
 */
export async function dismissClaimed(
  claimedTask: ClaimedTask,
  reason: DismissReason,
  ledger: Pick<Ledger, "clock">,
  isStuck = false,
): Promise<TaskReport> {
  const at = isoTime(ledger.clock.now());
  await claimedTask.record({ type: "dismissed", at, ...reason });
  const { task } = claimedTask;
  const canSaveMore = hasSavableImage(task) && !isStuck;
  if (task.state === "completed" && !canSaveMore)
    await claimedTask.record({ type: "saved", at, files: [...task.files] });
  await claimedTask.release();
  // If the dismissal is not on disk, every `resume` would find the task again.
  if (claimedTask.unwrittenError !== null) throw claimedTask.unwrittenError;
  return taskReport(claimedTask.task);
}

function isPending(task: Task): boolean {
  const { requests } = task;
  return (
    requests.some(({ state }) => state === "waiting" || state === "accepted" || state === "started") ||
    isUnsaved(task)
  );
}

/**
 * Ends requests that are waiting or accepted, and completed ones of which no image is or can be saved. `resume` with
 * the task's id can still poll their jobs.
 */
async function endUnfinished(
  claimedTask: ClaimedTask,
  { why }: DismissReason,
  { clock }: Pick<Ledger, "clock">,
  isStuck: boolean,
): Promise<void> {
  const at = isoTime(clock.now());
  const { task } = claimedTask;
  for (const [request, requestState] of task.requests.entries()) {
    const { state, attempt } = requestState;
    const hasFile = requestFiles(task, request).some((file) => file !== null);
    // A request with a saved image has not failed, even if its other images are lost.
    const isWithoutImage = state === "completed" && !hasFile && (isStuck || isGone(requestState));
    if (state === "waiting") await claimedTask.record({ type: "not_sent", at, why, request });
    else if ((state === "accepted" || isWithoutImage) && attempt !== null)
      await claimedTask.record({
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
