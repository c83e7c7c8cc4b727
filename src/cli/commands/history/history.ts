import type { Command } from "commander";
import { HISTORY_LIMIT, historyEntry } from "../../../client/history.ts";
import { openLedger } from "../../../client/open-ledger.ts";
import { describeUnreadable } from "../../../client/unreadable-entries.ts";
import { recentTasks } from "../../../core/task/history.ts";
import { reportOf } from "../../../core/task/report.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { wholeNumberOption } from "../../../lib/whole-number.ts";
import { nearestText, resolveModel } from "../../../models/find.ts";
import type { RunWith } from "../../app/command.ts";
import type { Session } from "../../app/session.ts";
import { clientContext } from "../../tasks/client-context.ts";
import { addFilterOptions, type FilterFlags, filterOf, isFiltered } from "./filter-flags.ts";

interface HistoryFlags extends FilterFlags {
  limit?: string;
  all?: boolean;
  summary?: boolean;
}

const EXAMPLES = `
Examples:
  $ imggen history
  $ imggen history --search fox --since 7d
  $ imggen history --status unfinished --limit 5
  $ imggen history --summary --since 2026-01-01
  $ imggen history --all --json | jq '[.[].credits] | add'`;

export function register(command: Command, runWith: RunWith): void {
  command
    .option("--limit <n>", `how many to show (default: ${HISTORY_LIMIT})`)
    .option("--all", "show every task")
    .option("--summary", "show credits and images by day and model");
  addFilterOptions(command).addHelpText("after", EXAMPLES).action(runWith(runHistory));
}

async function runHistory(session: Session, flags: HistoryFlags): Promise<number> {
  const limit = limitOf(flags);
  const filter = await filterOf(flags, session);
  if (flags.summary) {
    const { showSummary } = await import("./summary.ts");
    const { tasks, elsewhere } = await showSummary(filter, session);
    if (tasks === 0) await showNone(elsewhere, flags, session);
    return 0;
  }
  const ledger = openLedger(clientContext(session));
  const { records, unreadable, elsewhere } = await recentTasks(ledger, limit, filter);
  for (const entry of unreadable) await session.console.warn(describeUnreadable(entry));
  if (session.options.json) await session.json(records.map(historyEntry));
  else if (records.length > 0) {
    const { showTasks } = await import("./task-table.ts");
    await showTasks(records.map(reportOf), session);
  }
  if (records.length === 0) await showNone(elsewhere, flags, session);
  return 0;
}

/** How many tasks to show at most. @throws UsageError */
function limitOf({ limit, all, summary }: HistoryFlags): number {
  if (limit !== undefined && summary)
    throw new UsageError("--summary counts every task that matches, so it takes no --limit.");
  const most = limit === undefined ? HISTORY_LIMIT : wholeNumberOption("--limit", limit, { min: 1 });
  return all ? Number.POSITIVE_INFINITY : most;
}

/** Tasks may be of a model that the matrix does not have; where none is, its name may be mistyped. */
async function noteUnknownModel(name: string, session: Session): Promise<void> {
  const matrix = await session.matrix();
  if (resolveModel(name, matrix)) return;
  const nearest = nearestText(name, matrix);
  await session.console.note(`There is no model ${JSON.stringify(name)}${nearest && `; ${nearest}`}.`);
}

const FIRST_TASK = 'To make an image, free of charge: imggen generate "a red fox" --sandbox';

/** Says why there is nothing to show, and where the tasks are that there are. */
async function showNone(elsewhere: number, flags: HistoryFlags, session: Session): Promise<void> {
  const isSandbox = session.options.sandbox === true;
  const here = isSandbox ? "in the sandbox" : "at a real service";
  const none = isFiltered(flags) ? `No task ${here} matches` : `No tasks ${here} yet`;
  const [there, how] = isSandbox
    ? ["at a real service", "imggen history"]
    : ["in the sandbox", "imggen history --sandbox"];
  const others = elsewhere === 0 ? "." : `; ${elsewhere} ${there}: ${how}`;
  const isNew = elsewhere === 0 && !isFiltered(flags);
  await session.console.note([`${none}${others}`, ...(isNew ? [FIRST_TASK] : [])]);
  if (flags.model !== undefined) await noteUnknownModel(flags.model, session);
}
