import type { Command } from "commander";
import { type HistoryQuery, historyFilter, STATUSES } from "../../../client/history.ts";
import type { HistoryFilter } from "../../../core/task/history-filter.ts";
import type { Session } from "../../app/session.ts";

/** Flags that say which tasks are wanted. */
export type FilterFlags = HistoryQuery;

export function addFilterOptions(command: Command): Command {
  return command
    .option("--search <text>", "only prompts that contain this text")
    .option("--status <status>", `only this status: ${STATUSES.join(", ")}`)
    .option("--model <id>", "only this model")
    .option("--since <when>", "only since a day such as 2026-01-31 or yesterday, or an age: 12h, 7d, 2w");
}

/** @throws UsageError */
export function filterOf(flags: FilterFlags, session: Session): Promise<HistoryFilter> {
  const { options, context } = session;
  return historyFilter(flags, {
    matrix: () => session.matrix(),
    nowMs: context.clock.now(),
    isSandbox: options.sandbox === true,
    labelOf: (name) => `--${name}`,
  });
}

export function isFiltered({ search, status, model, since }: FilterFlags): boolean {
  return [search, status, model, since].some((flag) => flag !== undefined);
}
