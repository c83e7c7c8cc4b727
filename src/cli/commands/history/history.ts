import type { Command } from "commander";
import { HISTORY_LIMIT, type ListedTask, listedTasks, mistypedModel } from "../../../client/listed-tasks.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import { HISTORY } from "../../../client/options/task-table.ts";
import { targetInEffect } from "../../../client/targets/target-in-effect.ts";
import type { HistoryQuery } from "../../../core/use-cases/history.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { addOptions } from "../../session/add-options.ts";
import type { Answer, RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";
import type { TaskRow } from "./tables.ts";

type HistoryFlags = FlagsOf<typeof HISTORY>;

const EXAMPLES = `
Examples:
  $ imggen history
  $ imggen history fox --since 7d
  $ imggen history --unfinished
  $ imggen history --status unfinished --limit 5
  $ imggen history --summary --since 2026-01-01
  $ imggen history --all --json | jq '[.[].credits] | add'`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("[word...]", "search for these words, as --search does");
  addOptions(command, HISTORY).addHelpText("after", EXAMPLES).action(runWith(runHistory));
}

async function runHistory(session: Session, words: string[], typed: HistoryFlags): Promise<Answer> {
  const flags = withSearch(words, withStatus(typed));
  const limit = parseLimit(flags);
  const generator = isOfOneGenerator(session) ? await (await targetInEffect(session)).name() : undefined;
  const reading = { shownCount: 0, elsewhere: 0, isCounting: false };
  const tasks = tasksFrom({ ...flags, generator }, reading, session);
  const answer = flags.summary
    ? await summarize(tasks, reading, session)
    : {
        json: listEntries(tasks, limit, reading),
        show: () => listTable(tasks, limit, reading, session),
      };
  const after = async () => {
    if (reading.shownCount === 0) await showNone(reading.elsewhere, flags, session);
  };
  return { ...answer, after };
}

/** `--unfinished` is a status. @throws UsageError where another one is given too */
function withStatus(flags: HistoryFlags): HistoryFlags {
  const { unfinished, status } = flags;
  if (!unfinished) return flags;
  if (status !== undefined) throw new UsageError("--unfinished and --status were both given.");
  return { ...flags, status: "unfinished" };
}

/** Words are a search. @throws UsageError where `--search` is given too */
function withSearch(words: readonly string[], flags: HistoryFlags): HistoryFlags {
  if (words.length === 0) return flags;
  if (flags.search !== undefined) throw new UsageError("Words to search for and --search were both given.");
  return { ...flags, search: words.join(" ") };
}

interface Reading {
  /** Number of tasks shown. */
  shownCount: number;
  /** Number of tasks that were skipped because they are at another service. */
  elsewhere: number;
  /** Whether tasks are only counted, and unreadable entries no longer reported. */
  isCounting: boolean;
}

/** The tasks that match, newest first, each read only when it is asked for: there may be any number of them. */
async function* tasksFrom(
  query: HistoryQuery & { generator: string | undefined },
  reading: Reading,
  session: Session,
): AsyncGenerator<ListedTask> {
  for await (const entry of listedTasks(query, session, (name) => `--${name}`)) {
    if (entry === "elsewhere") reading.elsewhere += 1;
    else if (!("unreadable" in entry)) yield entry;
    else if (!reading.isCounting) await session.console.warn(entry.message);
  }
}

/** A ledger may hold a hundred thousand tasks; to say that there are more, not all of them are read. */
const MAX_COUNTED = 1000;

async function listTable(
  tasks: AsyncIterable<ListedTask>,
  limit: number,
  reading: Reading,
  session: Session,
): Promise<void> {
  const { showTasks, taskRow } = await import("./tables.ts");
  const rows: TaskRow[] = [];
  let matching = 0;
  for await (const task of tasks) {
    matching += 1;
    if (matching <= limit) rows.push(taskRow(task, session.context));
    reading.isCounting = matching >= limit;
    if (matching > Math.max(limit - 1, MAX_COUNTED)) break;
  }
  reading.shownCount = rows.length;
  if (rows.length > 0) await showTasks(rows, session);
  if (matching > rows.length) {
    const all = matching > MAX_COUNTED ? `more than ${MAX_COUNTED}` : matching;
    await session.console.note(`${rows.length} of ${all}, --all shows the rest`);
  }
}

/** The entries of the JSON document. */
async function* listEntries(tasks: AsyncIterable<ListedTask>, limit: number, reading: Reading) {
  for await (const task of tasks) {
    yield task.entry;
    if (++reading.shownCount >= limit) return;
  }
}

async function summarize(
  tasks: AsyncIterable<ListedTask>,
  reading: Reading,
  session: Session,
): Promise<Answer> {
  const { showSummary, summed } = await import("./tables.ts");
  const sums = await summed(tasks);
  reading.shownCount = sums.total.tasks;
  return { json: { ok: true, ...sums }, show: async () => showSummary(sums, session) };
}

/** Maximum number of tasks to show. @throws UsageError */
function parseLimit({ limit, all, summary }: HistoryFlags): number {
  if (limit !== undefined && summary)
    throw new UsageError("--summary counts every task that matches, so it takes no --limit.");
  return all ? Number.POSITIVE_INFINITY : (limit ?? HISTORY_LIMIT);
}

const FIRST_TASK = 'To make an image, free of charge: imggen generate "a red fox" --sandbox';

/** Explains an empty list, and names the command that lists the other tasks. */
async function showNone(elsewhere: number, flags: HistoryFlags, session: Session): Promise<void> {
  const { isSandbox } = session;
  const isOfGenerator = isOfOneGenerator(session);
  const none = noneText(flags, isSandbox ? "in the sandbox" : isOfGenerator ? "of this generator" : null);
  const location = isOfGenerator ? "elsewhere" : "at a real service";
  const [there, how] =
    isSandbox || isOfGenerator
      ? [location, "imggen history"]
      : ["in the sandbox", "imggen history --sandbox"];
  const others = elsewhere === 0 ? "." : `; ${elsewhere} ${there}: ${how}`;
  const isNew = elsewhere === 0 && !isFiltered(flags);
  await session.console.note([`${none}${others}`, ...(isNew ? [FIRST_TASK] : [])]);
  // Tasks may be of a model that is not in the matrix; if none is, its name may be mistyped.
  const mistyped = flags.model === undefined ? null : await mistypedModel(flags.model, session);
  if (mistyped !== null) await session.console.note(mistyped);
}

/** @param where the location that the list is limited to; null for all but the sandbox */
function noneText({ search, status, model, since }: HistoryQuery, where: string | null): string {
  const isOnlyOpen = status === "unfinished" && !isFiltered({ search, model, since });
  if (isOnlyOpen) return where === null ? "No task is unfinished" : `No task ${where} is unfinished`;
  const here = where ?? "at a real service";
  return isFiltered({ search, status, model, since }) ? `No task ${here} matches` : `No tasks ${here} yet`;
}

/** Whether the list is limited to a generator that a flag names. */
function isOfOneGenerator({ isSandbox, settings }: Session): boolean {
  return !isSandbox && settings.flag("generator") !== undefined;
}

function isFiltered({ search, status, model, since }: HistoryQuery): boolean {
  return [search, status, model, since].some((flag) => flag !== undefined);
}
