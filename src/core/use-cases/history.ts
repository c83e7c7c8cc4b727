import { UsageError } from "../../lib/error-types.ts";
import { parseSince } from "../../lib/local-time.ts";
import { matchesWords } from "../../lib/search-words.ts";
import { resolveModel } from "../../models/find.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { UnreadableEntry } from "../../store/ledger-files.ts";
import { SANDBOX_SERVICE, type ServiceIdentity } from "../../task/intent.ts";
import { isInHistory, isUnknown, type OpenState, openState, type Task } from "../../task/task.ts";
import { type ReportStatus, reportStatus, taskFacts } from "../engine/report.ts";

/** Filter for tasks of the ledger. An absent field matches all tasks. */
export interface HistoryFilter {
  /** Prefixes of words of the prompt, all of which must match. Case is ignored. */
  search?: string | undefined;
  status?: HistoryStatus | undefined;
  model?: string | undefined;
  /** Earliest time of the submit, in milliseconds since the epoch. */
  sinceMs?: number | undefined;
  isOfService?: ((service: ServiceIdentity) => boolean) | undefined;
}

/** The state of an open task, or the outcome of an ended one. `unfinished` matches every open task. */
export type HistoryStatus = ReportStatus | OpenState | "unfinished";

export function historyStatus(task: Task): ReportStatus | OpenState {
  return openState(task.state) ?? reportStatus(taskFacts(task));
}

/** Returns the tasks that might have been charged, newest first. Stops reading the ledger after `limit` tasks. */
export async function recentTasks(
  ledger: Ledger,
  limit: number,
  filter: HistoryFilter = {},
): Promise<{ records: Task[]; unreadable: UnreadableEntry[] }> {
  const records: Task[] = [];
  const unreadable: UnreadableEntry[] = [];
  if (limit === 0) return { records, unreadable };
  for await (const record of chargedTasks(ledger, filter)) {
    if (record === "elsewhere") continue;
    if ("kind" in record) unreadable.push(record);
    else if (records.push(record) >= limit) break;
  }
  return { records, unreadable };
}

/** Yields matching tasks, newest first, and unreadable files. `elsewhere`: the task matches except for its service. */
export async function* chargedTasks(
  ledger: Ledger,
  filter: HistoryFilter,
): AsyncGenerator<Task | UnreadableEntry | "elsewhere"> {
  const { sinceMs = Number.NEGATIVE_INFINITY, isOfService = () => true } = filter;
  const isOnlyOpen = filter.status === "unfinished";
  // Only open tasks are read if possible, because they are few even in a long history.
  for await (const entry of isOnlyOpen ? (await ledger.unfinished()).reverse() : ledger.tasksNewestFirst()) {
    if (entry.kind !== "task") {
      yield entry;
      continue;
    }
    // All further tasks are older.
    if (Date.parse(entry.task.submittedAt) < sinceMs) return;
    const record = await ledger.withLostReplies(entry.task);
    if (!isInHistory(record) || !matches(record, filter)) continue;
    yield isOfService(record.intent.service) ? record : "elsewhere";
  }
}

function matches(task: Task, { search, status, model }: HistoryFilter): boolean {
  const { request } = task.intent;
  if (search !== undefined && !matchesWords(search, request.prompt)) return false;
  if (model !== undefined && request.model !== model) return false;
  return status === undefined || hasStatus(task, status);
}

/** `running` matches every task whose status in the JSON output is `running`, in addition to tasks in that state. */
function hasStatus(task: Task, status: HistoryStatus): boolean {
  const { state } = task;
  // In a task with several images, one image can be unknown while other images are not saved yet.
  if (status === "unknown" && isUnknown(task)) return true;
  if (status === "unfinished") return openState(state) !== null;
  const isRunning = status === "running" && reportStatus({ state, isAwaited: true }) === "running";
  return isRunning || historyStatus(task) === status;
}

/** A user's query of the history, not yet parsed. */
export interface HistoryQuery {
  search?: string | undefined;
  status?: HistoryStatus | undefined;
  model?: string | undefined;
  since?: string | undefined;
}

interface HistoryQueryDeps {
  /** Called only if the query has a model. */
  matrix: () => Matrix | Promise<Matrix>;
  nowMs: number;
  isSandbox: boolean;
  /** Name of the generator whose tasks are listed; absent for the service. */
  generator?: string | undefined;
  /** Name of an option in messages. */
  getLabel: (name: "since") => string;
}

/** Creates a filter. Tasks of the sandbox are never listed together with tasks of other services. @throws UsageError */
export async function createHistoryFilter(
  { search, status, model, since }: HistoryQuery,
  { matrix, nowMs, isSandbox, generator, getLabel }: HistoryQueryDeps,
): Promise<HistoryFilter> {
  return {
    search,
    status,
    model: model === undefined ? undefined : (resolveModel(model, await matrix())?.id ?? model),
    sinceMs: since === undefined ? undefined : requireSince(since, nowMs, getLabel("since")),
    isOfService: ({ baseUrl }) =>
      generator === undefined ? (baseUrl === SANDBOX_SERVICE) === isSandbox : baseUrl === generator,
  };
}

function requireSince(text: string, nowMs: number, label: string): number {
  const ms = parseSince(text.trim(), nowMs);
  if (ms !== null) return ms;
  throw new UsageError(`${label} ${JSON.stringify(text)} is neither a date nor an age.`, {
    hint: "Use a date such as 2026-01-31, 2026-01-31T12:05 or yesterday, or an age such as 30m, 12h, 7d or 2w.",
  });
}
