import type { Ledger } from "../../store/ledger.ts";
import type { UnreadableEntry } from "../../store/ledger-entry.ts";
import { mayBeCharged, type TaskRecord } from "../../task/record.ts";
import { type HistoryFilter, matches } from "./history-filter.ts";

/** Tasks of the ledger, and the files that could not be read. */
export interface Recent<Kept> {
  records: Kept[];
  unreadable: UnreadableEntry[];
  /** How many of the tasks read were left out because they are at another service. */
  elsewhere: number;
  /** How many tasks match, the records included; no more are counted than was asked. */
  matching: number;
}

/** The tasks that were or may have been charged, newest first. Reads no more of the ledger than it must. */
export function recentTasks(
  ledger: Ledger,
  limit: number,
  filter: HistoryFilter = {},
): Promise<Recent<TaskRecord>> {
  return recentOf(ledger, limit, filter, limit, (record) => record);
}

/**
 * As `recentTasks`, keeping of each task what is needed of it alone: there may be a hundred thousand.
 * @param countTo how many to count at most
 */
export async function recentOf<Kept>(
  ledger: Ledger,
  limit: number,
  filter: HistoryFilter,
  countTo: number,
  keep: (record: TaskRecord) => Kept,
): Promise<Recent<Kept>> {
  const recent: Recent<Kept> = { records: [], unreadable: [], elsewhere: 0, matching: 0 };
  if (limit === 0) return recent;
  for await (const found of chargedTasks(ledger, filter)) {
    if (found === "elsewhere") recent.elsewhere += 1;
    else if ("kind" in found) {
      if (recent.matching < limit) recent.unreadable.push(found);
    } else if (++recent.matching <= limit) recent.records.push(keep(found));
    if (recent.matching >= Math.max(limit, countTo)) break;
  }
  return recent;
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
