import type { HistoryFilter, HistoryStatus } from "../core/task/history-filter.ts";
import { reportOf } from "../core/task/report.ts";
import { UsageError } from "../lib/error-types.ts";
import { parseSince } from "../lib/local-time.ts";
import { resolveModel } from "../models/find.ts";
import type { Matrix } from "../models/matrix.ts";
import { SANDBOX_SERVICE } from "../task/intent.ts";
import type { TaskRecord } from "../task/record.ts";
import { taskFacts } from "./report-json.ts";
import type { HistoryEntry } from "./results.ts";

/** How many tasks are shown by default. */
export const HISTORY_LIMIT = 20;

/** The words of `status`. */
export const STATUSES: readonly HistoryStatus[] = ["completed", "unfinished", "running", "failed", "unknown"];

/** What a user asks of the history, as it was given. */
export interface HistoryQuery {
  search?: string | undefined;
  status?: string | undefined;
  model?: string | undefined;
  since?: string | undefined;
}

interface Asking {
  /** Called only where a model is asked for. */
  matrix: () => Matrix | Promise<Matrix>;
  nowMs: number;
  isSandbox: boolean;
  /** How messages name what was given. */
  labelOf: (name: keyof HistoryQuery) => string;
}

/** Sandbox tasks and real ones are never listed together. @throws UsageError */
export async function historyFilter(
  { search, status, model, since }: HistoryQuery,
  { matrix, nowMs, isSandbox, labelOf }: Asking,
): Promise<HistoryFilter> {
  return {
    search,
    status: status === undefined ? undefined : statusOf(status, labelOf("status")),
    model: model === undefined ? undefined : (resolveModel(model, await matrix())?.id ?? model),
    sinceMs: since === undefined ? undefined : sinceOf(since, nowMs, labelOf("since")),
    isOfService: ({ baseUrl }) => (baseUrl === SANDBOX_SERVICE) === isSandbox,
  };
}

function statusOf(text: string, label: string): HistoryStatus {
  const status = STATUSES.find((known) => known === text.toLowerCase());
  if (status) return status;
  throw new UsageError(
    `${label} ${JSON.stringify(text)} is not a status. Use one of: ${STATUSES.join(", ")}.`,
  );
}

function sinceOf(text: string, nowMs: number, label: string): number {
  const ms = parseSince(text.trim(), nowMs);
  if (ms !== null) return ms;
  throw new UsageError(`${label} ${JSON.stringify(text)} is neither a date nor an age.`, {
    hint: "Use a date such as 2026-01-31, 2026-01-31T12:05 or yesterday, or an age such as 30m, 12h, 7d or 2w.",
  });
}

/** A task of the ledger as scripts get it. */
export function historyEntry(record: TaskRecord): HistoryEntry {
  const report = reportOf(record);
  return { id: report.ledgerId, ...taskFacts(report), service: record.intent.service.baseUrl };
}
