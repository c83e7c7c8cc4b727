import { type Clock, isoTime } from "../../lib/clock.ts";
import { UsageError } from "../../lib/error-types.ts";
import { StateFolderError } from "../../store/errors.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { OwnedTask } from "../../store/owners.ts";
import { isUnknown, type TaskRecord } from "../../task/record.ts";
import { ClaimedError } from "../errors.ts";
import { ENDED_WHILE_BUSY, reportOf, type TaskReport } from "./report.ts";
import { TaskWriter } from "./task-writer.ts";

/**
 * Dismisses a request of unknown outcome at the user's request: it is no longer tracked.
 * @param reason `replacement`: the ledger id of the task that was submitted in its place
 * @throws UsageError if its outcome is known; ClaimedError while another process is working on it
 */
export async function dismissTask(
  record: TaskRecord,
  reason: { why: string; replacement: string | null },
  { ledger, clock }: { ledger: Ledger; clock: Pick<Clock, "now"> },
): Promise<TaskReport> {
  const owned = isUnknown(record) ? await ledger.claim(record) : "finished";
  if (owned === "elsewhere")
    throw new ClaimedError(`Another process is working on ${record.id}.`, { charged: "unknown" });
  if (owned === "finished") throw outcomeIsKnown(record);
  if (!isUnknown(owned.record)) {
    await owned.release();
    throw outcomeIsKnown(owned.record);
  }
  const warnings: string[] = [];
  const writer = new TaskWriter(ledger, owned, (message) => warnings.push(message));
  await writer.write({ type: "dismissed", at: isoTime(clock.now()), ...reason });
  await writer.finish();
  return { ...reportOf(writer.record), warnings };
}

/**
 * Closes a request whose process was killed during the wait after a 429: the service refused it, and nothing was sent
 * since.
 * @throws StateFolderError if that cannot be recorded, because then every resume would find it again
 */
export async function recordNotSent(owned: OwnedTask, ledger: Ledger): Promise<TaskReport> {
  const writer = new TaskWriter(ledger, owned, () => {});
  const at = isoTime(ledger.clock.now());
  const isWritten = await writer.write({ type: "not_sent", at, why: ENDED_WHILE_BUSY });
  await writer.finish();
  if (!isWritten) throw new StateFolderError(ledger.folder, "the disk refused a record");
  return reportOf(writer.record);
}

function outcomeIsKnown(record: TaskRecord): UsageError {
  const { taskId, state } = reportOf(record);
  const hint = "Only a request of unknown outcome can be dismissed. imggen history shows the status of each.";
  return new UsageError(
    `Task ${taskId ?? record.id} cannot be dismissed: its status is ${state.replace("_", " ")}.`,
    {
      hint,
    },
  );
}
