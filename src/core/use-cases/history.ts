import { localDay } from "../../lib/local-time.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { UnreadableEntry } from "../../store/ledger-entry.ts";
import { mayBeCharged, type TaskRecord } from "../../task/record.ts";
import { factsOf } from "../task/report.ts";
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

/**
 * Every task that a filter lets through, newest first, each read only when it is asked for; and the files that cannot
 * be read.
 */
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

/** What some tasks made and cost, or may have cost. */
export interface Totals {
  tasks: number;
  /** Saved ones. */
  images: number;
  /** Documented costs alone. */
  credits: number;
  /** Tasks whose cost is not documented. */
  undocumented: number;
  /** What the user's own generators said of cost and tokens, each name added up; absent where they said nothing. */
  usage?: Record<string, number>;
}

/** One model's tasks of one day, in local time. */
export interface DayTotals extends Totals {
  /** `2026-01-31`. */
  day: string;
  model: string;
}

/** Adds tasks up by day and model, in memory that grows with those alone. */
export class HistorySummary {
  readonly total: Totals = noTotals();
  readonly #days = new Map<string, DayTotals>();

  /** Takes note of a task. Newer ones come first. */
  add(record: TaskRecord): void {
    const day = localDay(new Date(record.submittedAt));
    const { model } = record.intent.request;
    const key = `${day} ${model}`;
    const known = this.#days.get(key) ?? { day, model, ...noTotals() };
    this.#days.set(key, known);
    for (const totals of [known, this.total]) count(record, totals);
  }

  /** The newest day first. */
  get days(): DayTotals[] {
    return [...this.#days.values()];
  }
}

function noTotals(): Totals {
  return { tasks: 0, images: 0, credits: 0, undocumented: 0 };
}

function count(record: TaskRecord, totals: Totals): void {
  const { credits } = record.intent;
  totals.tasks += 1;
  totals.images += factsOf(record).files.length;
  if (credits === null) totals.undocumented += 1;
  else totals.credits += credits;
  const { usage } = factsOf(record);
  for (const [name, value] of Object.entries(usage ?? {})) {
    if (typeof value !== "number" || !Number.isFinite(value)) continue;
    totals.usage ??= {};
    totals.usage[name] = (totals.usage[name] ?? 0) + value;
  }
}
