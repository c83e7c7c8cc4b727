import { type Clock, isoTime } from "../lib/clock.ts";
import { UsageError } from "../lib/errors.ts";
import type { Ledger } from "../store/ledger.ts";
import { isUnknown, type TaskRecord } from "../store/task.ts";
import { PendingError } from "./errors.ts";
import { Journal } from "./journal.ts";
import { reportOf, type TaskReport } from "./report.ts";

/**
 * Puts a request of unknown outcome aside, on the user's word: nobody asks about it any more.
 * @param reason `replacement`: the ledger's name of the task that was bought in its place
 * @throws UsageError where its outcome is known; PendingError while another process is at it
 */
export async function dismissTask(
  record: TaskRecord,
  reason: { why: string; replacement: string | null },
  { ledger, clock }: { ledger: Ledger; clock: Pick<Clock, "now"> },
): Promise<TaskReport> {
  const owned = isUnknown(record) ? await ledger.claim(record) : "finished";
  if (owned === "held") throw new PendingError(`Another process is at work on ${record.id}.`);
  if (owned === "finished") throw outcomeIsKnown(record);
  if (!isUnknown(owned.record)) {
    await owned.release();
    throw outcomeIsKnown(owned.record);
  }
  const warnings: string[] = [];
  const journal = new Journal(ledger, owned, (message) => warnings.push(message));
  await journal.write({ type: "dismissed", at: isoTime(clock.now()), ...reason });
  await journal.finish();
  return { ...reportOf(journal.record), warnings };
}

function outcomeIsKnown(record: TaskRecord): UsageError {
  const { taskId, status } = reportOf(record);
  const hint = "Only a request of unknown outcome can be dismissed. imggen history shows how each stands.";
  return new UsageError(`Task ${taskId ?? record.id} is no riddle: it is ${status}.`, { hint });
}
