import type { Ledger } from "../../store/ledger.ts";
import type { UnreadableEntry } from "../../store/ledger-entry.ts";
import { mayBeCharged, type TaskRecord } from "../../task/record.ts";
import { type HistoryFilter, matches } from "./history-filter.ts";

/** The tasks that were or may have been charged, newest first. Reads no more of the ledger than it must. */
export async function recentTasks(
  ledger: Ledger,
  limit: number,
  filter: HistoryFilter = {},
): Promise<{ records: TaskRecord[]; unreadable: UnreadableEntry[] }> {
  const records: TaskRecord[] = [];
  const unreadable: UnreadableEntry[] = [];
  if (limit === 0) return { records, unreadable };
  for await (const found of chargedTasks(ledger, filter)) {
    if (found === "elsewhere") continue;
    if ("kind" in found) unreadable.push(found);
    else if (records.push(found) >= limit) break;
  }
  return { records, unreadable };
}

/** Every task that a filter lets through, newest first, each read only when it is asked for; and the files that cannot be read. */
export async function* chargedTasks(
  ledger: Ledger,
  filter: HistoryFilter,
): AsyncGenerator<TaskRecord | UnreadableEntry | "elsewhere"> {
  const { sinceMs = Number.NEGATIVE_INFINITY, isOfService = () => true } = filter;
  for await (const entry of ledger.newestFirst()) {
    if (entry.kind !== "task") {
      yield entry;
      continue;
    }
    const { record } = entry;
    // All that follow are older still.
    if (Date.parse(record.submittedAt) < sinceMs) return;
    if (!mayBeCharged(record) || !matches(record, filter)) continue;
    yield isOfService(record.intent.service) ? record : "elsewhere";
  }
}
