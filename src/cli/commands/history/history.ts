import type { Command } from "commander";
import { HISTORY_LIMIT, type ListedTask, listedTasks, mistypedModel } from "../../../client/listed-tasks.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import { HISTORY } from "../../../client/options/task-table.ts";
import { targetInEffect } from "../../../client/targets/target-in-effect.ts";
import type { HistoryQuery } from "../../../core/use-cases/history.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { pluralize } from "../../../lib/whole-number.ts";
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
  command.argument("[word...]", "words to search for, as with --search");
  addOptions(command, HISTORY).addHelpText("after", EXAMPLES).action(runWith(runHistory));
}

async function runHistory(session: Session, words: string[], givenFlags: HistoryFlags): Promise<Answer> {
  const flags = resolveSearch(words, resolveStatus(givenFlags));
  const limit = parseLimit(flags);
  const generator = isLimitedToGenerator(session) ? await (await targetInEffect(session)).name() : undefined;
  const readState = { shownCount: 0, elsewhere: 0, isCounting: false };
  const tasks = readTasks({ ...flags, generator }, readState, session);
  const answer = flags.summary
    ? await summarize(tasks, readState, session)
    : {
        json: listEntries(tasks, limit, readState),
        show: () => listTable(tasks, limit, readState, session),
      };
  const after = async () => {
    if (readState.shownCount === 0) await explainEmptyList(readState.elsewhere, flags, session);
  };
  return { ...answer, after };
}

/** @throws UsageError if `--status` is also set */
function resolveStatus(flags: HistoryFlags): HistoryFlags {
  const { unfinished, status } = flags;
  if (!unfinished) return flags;
  if (status !== undefined) throw new UsageError("--unfinished and --status cannot be combined.");
  return { ...flags, status: "unfinished" };
}

/** @throws UsageError if `--search` is also set */
function resolveSearch(words: readonly string[], flags: HistoryFlags): HistoryFlags {
  if (words.length === 0) return flags;
  if (flags.search !== undefined) throw new UsageError("Search words and --search cannot be combined.");
  return { ...flags, search: words.join(" ") };
}

interface ReadState {
  shownCount: number;
  elsewhere: number;
  /** Whether tasks are only counted, in which case unreadable entries are not reported. */
  isCounting: boolean;
}

/** Reads the matching tasks lazily, newest first, because a ledger can contain 100,000 tasks. */
async function* readTasks(
  query: HistoryQuery & { generator: string | undefined },
  readState: ReadState,
  session: Session,
): AsyncGenerator<ListedTask> {
  for await (const entry of listedTasks(query, session, (name) => `--${name}`)) {
    if (entry === "elsewhere") readState.elsewhere += 1;
    else if (!("unreadable" in entry)) yield entry;
    else if (!readState.isCounting) await session.console.warn(entry.message);
  }
}

/** Maximum number of tasks to count, because a ledger can contain 100,000 tasks. */
const MAX_COUNTED = 1000;

async function listTable(
  tasks: AsyncIterable<ListedTask>,
  limit: number,
  readState: ReadState,
  session: Session,
): Promise<void> {
  const { showTasks, taskRow } = await import("./tables.ts");
  const rows: TaskRow[] = [];
  let matching = 0;
  for await (const task of tasks) {
    matching += 1;
    if (matching <= limit) rows.push(taskRow(task, session.context));
    readState.isCounting = matching >= limit;
    if (matching > Math.max(limit - 1, MAX_COUNTED)) break;
  }
  readState.shownCount = rows.length;
  if (rows.length > 0) await showTasks(rows, session);
  if (matching > rows.length) {
    const total = matching > MAX_COUNTED ? `more than ${MAX_COUNTED}` : matching;
    await session.console.note(`${rows.length} of ${total} shown. To list all, add --all`);
  }
}

async function* listEntries(tasks: AsyncIterable<ListedTask>, limit: number, readState: ReadState) {
  for await (const task of tasks) {
    yield task.entry;
    if (++readState.shownCount >= limit) return;
  }
}

async function summarize(
  tasks: AsyncIterable<ListedTask>,
  readState: ReadState,
  session: Session,
): Promise<Answer> {
  const { showSummary, sumUpTasks } = await import("./tables.ts");
  const sums = await sumUpTasks(tasks);
  readState.shownCount = sums.total.tasks;
  return { json: { ok: true, ...sums }, show: async () => showSummary(sums, session) };
}

/** @throws UsageError for `--limit` with `--summary` */
function parseLimit({ limit, all, summary }: HistoryFlags): number {
  if (limit !== undefined && summary)
    throw new UsageError("--summary counts all matching tasks, so it does not support --limit.");
  return all ? Number.POSITIVE_INFINITY : (limit ?? HISTORY_LIMIT);
}

const FIRST_TASK = 'To generate an image, free: imggen generate "a red fox" --sandbox';

async function explainEmptyList(elsewhere: number, flags: HistoryFlags, session: Session): Promise<void> {
  const { isSandbox } = session;
  const isOneGenerator = isLimitedToGenerator(session);
  const emptyText = emptyListText(
    flags,
    isSandbox ? "in the sandbox" : isOneGenerator ? "of this generator" : null,
  );
  const realLocation = isOneGenerator ? "elsewhere" : "at a real service";
  const [location, command] =
    isSandbox || isOneGenerator
      ? [realLocation, "imggen history"]
      : ["in the sandbox", "imggen history --sandbox"];
  const otherTasks =
    elsewhere === 0 ? "." : `. To list ${pluralize(elsewhere, "task")} ${location}: ${command}`;
  const isNew = elsewhere === 0 && !isFiltered(flags);
  await session.console.note([`${emptyText}${otherTasks}`, ...(isNew ? [FIRST_TASK] : [])]);
  // A task can have a model that is not in the matrix, so an unknown model is reported only if the list is empty.
  const mistyped = flags.model === undefined ? null : await mistypedModel(flags.model, session);
  if (mistyped !== null) await session.console.note(mistyped);
}

/** @param location phrase such as `in the sandbox`; null if the list has the tasks of all services but the sandbox */
function emptyListText({ search, status, model, since }: HistoryQuery, location: string | null): string {
  const isOnlyUnfinished = status === "unfinished" && !isFiltered({ search, model, since });
  if (isOnlyUnfinished)
    return location === null ? "No task is unfinished" : `No task ${location} is unfinished`;
  const locationText = location ?? "at a real service";
  return isFiltered({ search, status, model, since })
    ? `No task ${locationText} matches`
    : `No tasks ${locationText} yet`;
}

function isLimitedToGenerator({ isSandbox, settings }: Session): boolean {
  return !isSandbox && settings.flag("generator") !== undefined;
}

function isFiltered({ search, status, model, since }: HistoryQuery): boolean {
  return [search, status, model, since].some((flag) => flag !== undefined);
}
