import { isoTime } from "../../lib/clock.ts";
import { UsageError } from "../../lib/error-types.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { Ledger } from "../../store/ledger.ts";
import { isAllGone, isUnknown, isUnsaved, openState, STATES, type Task } from "../../task/task.ts";
import { claimedBy } from "../errors.ts";
import { type HeldTask, holdTask } from "./held.ts";
import { reportOf, type TaskReport } from "./report.ts";

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
  const standing = await ledger.withLostReplies(task);
  if (STATES[standing.state].isOpen && ledger.isHeld(standing)) throw await claimedBy(standing, ledger);
  if (!mayDismiss(standing)) throw outcomeIsKnown(task);
  const held = await holdTask(task, ledger, () => {});
  if (held === "held") throw await claimedBy(task, ledger);
  if (held === "ended") throw outcomeIsKnown(task);
  for (const line of ledger.lostRequestLines(held.task)) await held.record(line);
  if (!mayDismiss(held.task)) {
    await held.leave();
    throw outcomeIsKnown(held.task);
  }
  await endPending(held, reason, ledger);
  return dismissHeld(held, reason, ledger);
}

/** As `dismissTask`, for one that this process holds, and whose outcome is still unknown. @throws StateFolderError */
export async function dismissHeld(
  held: HeldTask,
  reason: DismissReason,
  ledger: Pick<Ledger, "clock">,
): Promise<TaskReport> {
  const at = isoTime(ledger.clock.now());
  await held.record({ type: "dismissed", at, ...reason });
  // All its images that are still to be had are saved, now that none is waited for any longer.
  if (held.task.state === "completed" && (!isUnsaved(held.task) || isAllGone(held.task)))
    await held.record({ type: "saved", at, files: [...held.task.files] });
  await held.leave();
  // Every resume would find it again.
  if (held.unwritten !== null) throw held.unwritten;
  return reportOf(held.task);
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
  held: HeldTask,
  { why }: DismissReason,
  { clock }: Pick<Ledger, "clock">,
): Promise<void> {
  const at = isoTime(clock.now());
  for (const [request, { state, attempt }] of held.task.requests.entries()) {
    if (state === "waiting") await held.record({ type: "not_sent", at, why, request });
    else if (
      (state === "accepted" || (state === "completed" && !held.task.files[request])) &&
      attempt !== null
    )
      await held.record({
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
  const { taskId, state } = reportOf(task);
  const hint = [
    "Only a request of unknown outcome can be dismissed, or one that its provider no longer has.",
    phrase`To see the status of each: ${action("history")}`,
  ];
  const status = openState(state) ?? state.replace("_", " ");
  return new UsageError(`Task ${taskId ?? task.id} cannot be dismissed: its status is ${status}.`, { hint });
}
