import type { Ledger } from "../../store/ledger.ts";
import type { LedgerEntry } from "../../store/ledger-entry.ts";
import { isSameRequest, type ServiceIdentity } from "../../task/intent.ts";
import { mayBeCharged, type TaskRecord } from "../../task/record.ts";
import type { GenerationRequest } from "../../task/request.ts";

/** What the ledger holds, and the files in its way that want a word. */
export interface Recent {
  records: TaskRecord[];
  oddities: Exclude<LedgerEntry, { kind: "task" }>[];
}

/** The tasks that were or may have been paid for, newest first. Reads no more of the ledger than it must. */
export async function recentTasks(ledger: Ledger, limit: number): Promise<Recent> {
  const recent: Recent = { records: [], oddities: [] };
  if (limit === 0) return recent;
  for await (const entry of ledger.newestFirst()) {
    if (entry.kind !== "task") recent.oddities.push(entry);
    else if (mayBeCharged(entry.record)) recent.records.push(entry.record);
    if (recent.records.length >= limit) break;
  }
  return recent;
}

/** An earlier task for the very same request of the same account that is unfinished, or of unknown outcome. */
export async function findUnfinishedDuplicate(
  ledger: Ledger,
  request: GenerationRequest,
  service: ServiceIdentity,
): Promise<TaskRecord | null> {
  for (const entry of await ledger.unfinished()) {
    if (entry.kind !== "task" || !mayBeCharged(entry.record)) continue;
    if (isSameRequest(entry.record.intent, { request, service })) return entry.record;
  }
  return null;
}
