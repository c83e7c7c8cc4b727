import { reportOf, type TaskReport } from "../core/engine/report.ts";
import { chargedTasks, type HistoryQuery, historyFilter, historyStatus } from "../core/use-cases/history.ts";
import { nearestText, resolveModel } from "../models/find.ts";
import type { Matrix } from "../models/matrix.ts";
import { describeUnreadable, mayBeTask, type UnreadableEntry } from "../store/ledger-files.ts";
import { isAtGenerator } from "../task/intent.ts";
import type { Task } from "../task/task.ts";
import { type ClientSession, openLedger } from "./client-session.ts";
import type { HistoryOptions } from "./options/call-options.ts";
import { historyEntry, unreadableFiles } from "./report-json.ts";
import type { HistoryEntry, HistoryResult } from "./results.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";

/** How many tasks are shown by default. */
export const HISTORY_LIMIT = 20;

/** A task of the history, as lists show it. */
export interface ListedTask {
  report: TaskReport;
  /** Where an open task stands; how another one has ended. */
  status: string;
  /** The name of the user's own generator that it is at; null at a service. */
  generator: string | null;
  /** As scripts get it. */
  entry: HistoryEntry;
}

/** What is asked of a list. `generator`: only tasks at this one. */
interface ListQuery extends HistoryQuery {
  generator?: string | undefined;
}

function listed(task: Task): ListedTask {
  return {
    report: reportOf(task),
    status: historyStatus(task),
    generator: isAtGenerator(task.intent) ? task.intent.service.baseUrl : null,
    entry: historyEntry(task),
  };
}

/** A file of the ledger that cannot be read, which may be a charged task. */
export interface UnreadableTask {
  unreadable: UnreadableEntry;
  message: string;
}

/**
 * Every task that a query lets through, newest first, each read only when it is asked for; `elsewhere` stands for one that is
 * only at another service. Polls nothing.
 * @param labelOf names what was given, in messages
 * @throws UsageError
 */
export async function* listedTasks(
  { generator, ...query }: ListQuery,
  session: ClientSession,
  labelOf: (name: keyof HistoryQuery) => string,
): AsyncGenerator<ListedTask | UnreadableTask | "elsewhere"> {
  const filter = await historyFilter(query, {
    generator,
    matrix: async () => (await targetInEffect(session)).matrix(),
    nowMs: session.context.clock.now(),
    isSandbox: session.isSandbox,
    labelOf,
  });
  for await (const found of chargedTasks(openLedger(session), filter)) {
    if (found === "elsewhere") yield found;
    else if ("kind" in found) yield { unreadable: found, message: describeUnreadable(found) };
    else yield listed(found);
  }
}

/** The package's answer to `history`. @throws UsageError */
export async function recentHistory(
  { limit = HISTORY_LIMIT, ...query }: HistoryOptions,
  session: ClientSession,
): Promise<HistoryResult> {
  const tasks: HistoryEntry[] = [];
  const unreadable: UnreadableEntry[] = [];
  const found = listedTasks(query, session, (name) => `history: ${name}`);
  if (limit === 0) return { tasks };
  for await (const each of found) {
    if (each === "elsewhere") continue;
    if ("unreadable" in each) unreadable.push(each.unreadable);
    else if (tasks.push(each.entry) >= limit) break;
  }
  return { tasks, ...unreadableFiles(unreadable.filter(mayBeTask)) };
}

/** A model of which no task may be found because its name is mistyped, as a clause; null if the matrix has it. */
export function unknownModelText(name: string, matrix: Matrix): string | null {
  if (resolveModel(name, matrix)) return null;
  const nearest = nearestText(name, matrix);
  return `There is no model ${JSON.stringify(name)}${nearest && `; ${nearest}`}.`;
}
