import { type TaskReport, taskReport } from "../core/engine/report.ts";
import {
  chargedTasks,
  createHistoryFilter,
  type HistoryQuery,
  historyStatus,
} from "../core/use-cases/history.ts";
import { unknownModelText } from "../models/find.ts";
import { describeUnreadable, mayBeCharged, type UnreadableEntry } from "../store/ledger-files.ts";
import { isAtGenerator } from "../task/intent.ts";
import { getTaskId, openTaskState, type Task } from "../task/task.ts";
import { type ClientSession, openLedger } from "./client-session.ts";
import type { HistoryOptions } from "./options/call-options.ts";
import { historyEntry, unreadableFiles } from "./report-json.ts";
import type { HistoryEntry, HistoryResult } from "./results.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";

export const HISTORY_LIMIT = 20;

export interface ListedTask {
  report: TaskReport;
  status: string;
  generator: string | null;
  entry: HistoryEntry;
}

interface ListQuery extends HistoryQuery {
  generator?: string | undefined;
}

function toListedTask(task: Task): ListedTask {
  return {
    report: taskReport(task),
    status: historyStatus(task),
    generator: isAtGenerator(task.intent) ? task.intent.service.baseUrl : null,
    entry: historyEntry(task),
  };
}

/** An unreadable file of the ledger, which might be a charged task. */
export interface UnreadableTask {
  unreadable: UnreadableEntry;
  message: string;
}

/**
 * Lists matching tasks, newest first, without polling. `elsewhere`: a matching task of another service.
 * @throws UsageError
 */
export async function* listedTasks(
  { generator, ...query }: ListQuery,
  session: ClientSession,
  getLabel: (name: keyof HistoryQuery) => string,
): AsyncGenerator<ListedTask | UnreadableTask | "elsewhere"> {
  const filter = await createHistoryFilter(query, {
    generator,
    matrix: async () => (await targetInEffect(session)).matrix(),
    nowMs: session.context.clock.now(),
    isSandbox: session.isSandbox,
    getLabel,
  });
  for await (const entry of chargedTasks(openLedger(session), filter)) {
    if (entry === "elsewhere") yield entry;
    else if ("kind" in entry) yield { unreadable: entry, message: describeUnreadable(entry) };
    else yield toListedTask(entry);
  }
}

export interface CancellableTasks {
  tasks: ListedTask[];
  paid: number;
  /** Number of tasks that belong to a running `imggen serve`, and are not in `tasks`. */
  served: number;
  warnings: string[];
}

/** Lists the tasks that can be cancelled, without polling. Tasks of the sandbox cannot be cancelled. */
export async function cancellableTasks(session: ClientSession): Promise<CancellableTasks> {
  if (session.isSandbox) return { tasks: [], paid: 0, served: 0, warnings: [] };
  const { cancellable } = await import("../core/use-cases/cancel.ts");
  const { tasks, served, unreadable } = await cancellable(openLedger(session));
  return {
    tasks: tasks.map(toListedTask),
    paid: tasks.filter(({ intent }) => intent.isPaid).length,
    served: served.length,
    warnings: unreadable.filter(mayBeCharged).map(describeUnreadable),
  };
}

/** @throws UsageError */
export async function recentHistory(
  { limit = HISTORY_LIMIT, ...query }: HistoryOptions,
  session: ClientSession,
): Promise<HistoryResult> {
  const tasks: HistoryEntry[] = [];
  const unreadable: UnreadableEntry[] = [];
  const entries = listedTasks(query, session, (name) => `history: ${name}`);
  for await (const entry of entries) {
    if (entry === "elsewhere") continue;
    if ("unreadable" in entry) unreadable.push(entry.unreadable);
    else if (tasks.push(entry.entry) >= limit) break;
  }
  return { tasks, ...unreadableFiles(unreadable.filter(mayBeCharged)) };
}

export interface TaskChoice {
  id: string;
  /** Null after the task has ended. */
  state: string | null;
  prompt: string;
}

export async function latestTasks(
  scope: "unfinished" | "all",
  max: number,
  session: Pick<ClientSession, "folders" | "context">,
): Promise<TaskChoice[]> {
  const ledger = openLedger(session);
  const choices: TaskChoice[] = [];
  const entries = scope === "all" ? ledger.tasksNewestFirst() : (await ledger.unfinished()).reverse();
  for await (const entry of entries) {
    if (entry.kind === "task") {
      const task = await ledger.withLostReplies(entry.task);
      choices.push({
        id: getTaskId(task) ?? task.id,
        state: openTaskState(task),
        prompt: task.intent.request.prompt,
      });
    }
    if (choices.length >= max) break;
  }
  return choices;
}

/** Returns a sentence about an unknown model name, or null if the target has the model. */
export async function mistypedModel(name: string, session: ClientSession): Promise<string | null> {
  return unknownModelText(name, await (await targetInEffect(session)).matrix());
}
