import { isoTime } from "../../lib/clock.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { Ledger } from "../../store/ledger.ts";
import { type OwnedTask, releaseIfPossible } from "../../store/owners.ts";
import { StateFolderError } from "../../store/store-errors.ts";
import { stateWord, type TaskEvent } from "../../task/lifecycle.ts";
import { isUnknown, isUnsaved, type TaskRecord, withEvent } from "../../task/record.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import { ClaimedError, describeWorker } from "../errors.ts";
import { reportOf, type TaskReport } from "./report.ts";
import { ENDED_WHILE_BUSY } from "./task-error.ts";
import { TaskWriter } from "./task-writer.ts";

interface DismissReason {
  why: string;
  /** The ledger id of the task that was submitted in its place. */
  replacement: string | null;
}

/**
 * Dismisses a request of unknown outcome at the user's request: it is no longer tracked.
 * @throws UsageError if its outcome is known; ClaimedError while another process is working on it; StateFolderError
 */
export async function dismissTask(
  record: TaskRecord,
  reason: DismissReason,
  ledger: Ledger,
): Promise<TaskReport> {
  const isLost = isUnknown(await ledger.asItStands(record));
  const owned = isLost ? await ledger.claim(record) : "finished";
  if (owned === "elsewhere")
    throw new ClaimedError(
      `${describeWorker(await ledger.workerOn(record), ledger.processes.self)} is working on ${record.id}.`,
      { charged: "unknown" },
    );
  if (owned === "finished") throw outcomeIsKnown(record);
  if (!isUnknown(ledger.linesOfLost(owned.record).reduce(withEvent, owned.record))) {
    await releaseIfPossible(owned);
    throw outcomeIsKnown(owned.record);
  }
  return dismissOwned(owned, reason, ledger);
}

/** As `dismissTask`, for one that this process has claimed, and whose outcome is still unknown. */
export function dismissOwned(owned: OwnedTask, reason: DismissReason, ledger: Ledger): Promise<TaskReport> {
  return finishWith({ type: "dismissed", at: isoTime(ledger.clock.now()), ...reason }, owned, ledger);
}

/**
 * Closes a request whose process was killed during the wait after a 429: the service refused it, and nothing was sent
 * since. @throws StateFolderError
 */
export function recordNotSent(owned: OwnedTask, ledger: Ledger): Promise<TaskReport> {
  const at = isoTime(ledger.clock.now());
  return finishWith({ type: "not_sent", at, why: ENDED_WHILE_BUSY }, owned, ledger);
}

/** @throws StateFolderError if its last line cannot be recorded, because then every resume would find it again */
async function finishWith(event: TaskEvent, owned: OwnedTask, ledger: Ledger): Promise<TaskReport> {
  const writer = new TaskWriter(ledger, owned, () => {});
  for (const line of ledger.linesOfLost(owned.record)) await writer.write(line);
  const isWritten = await writer.write(event);
  const files = filesOfAll(writer.record);
  if (files !== null) await writer.write({ type: "saved", at: event.at, files });
  await writer.leave();
  if (!isWritten) throw new StateFolderError(ledger.folder, "the disk refused a record");
  return reportOf(writer.record);
}

/** The files of a task whose images are all saved, now that none is waited for any more; null if it is not one. */
function filesOfAll(record: TaskRecord): SavedFile[] | null {
  const { state } = record;
  if (state.name !== "completed" || isUnsaved(record)) return null;
  return state.partlySaved.filter((file) => file !== null);
}

function outcomeIsKnown(record: TaskRecord): UsageError {
  const { taskId, state } = reportOf(record);
  const hint = "Only a request of unknown outcome can be dismissed. imggen history shows the status of each.";
  const status = stateWord(state) ?? state.replace("_", " ");
  return new UsageError(`Task ${taskId ?? record.id} cannot be dismissed: its status is ${status}.`, {
    hint,
  });
}
