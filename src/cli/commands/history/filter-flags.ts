import type { Command } from "commander";
import { SANDBOX_SERVICE } from "../../../client/connections.ts";
import type { HistoryFilter, HistoryStatus } from "../../../core/task/history-filter.ts";
import { UsageError } from "../../../lib/errors.ts";
import { parseSince } from "../../../lib/local-time.ts";
import { resolveModel } from "../../../models/find.ts";
import type { Session } from "../../app/session.ts";

/** Flags that say which tasks are wanted. */
export interface FilterFlags {
  search?: string;
  status?: string;
  model?: string;
  since?: string;
}

export const STATUSES: readonly HistoryStatus[] = ["completed", "unfinished", "running", "failed", "unknown"];

export function addFilterOptions(command: Command): Command {
  return command
    .option("--search <text>", "only prompts that contain this text")
    .option("--status <status>", `only this status: ${STATUSES.join(", ")}`)
    .option("--model <id>", "only this model")
    .option("--since <when>", "only since a day such as 2026-01-31, or an age: 12h, 7d, 2w");
}

/** Play money and real money are never in one list. @throws UsageError */
export function filterOf(
  { search, status, model, since }: FilterFlags,
  { options, context }: Session,
): HistoryFilter {
  const isSandbox = options.sandbox === true;
  return {
    search,
    status: status === undefined ? undefined : statusOf(status),
    model: model === undefined ? undefined : (resolveModel(model)?.id ?? model),
    sinceMs: since === undefined ? undefined : sinceOf(since, context.clock.now()),
    isOfService: ({ baseUrl }) => (baseUrl === SANDBOX_SERVICE) === isSandbox,
  };
}

export function isFiltered({ search, status, model, since }: FilterFlags): boolean {
  return [search, status, model, since].some((flag) => flag !== undefined);
}

function statusOf(text: string): HistoryStatus {
  const status = STATUSES.find((known) => known === text.toLowerCase());
  if (status) return status;
  throw new UsageError(`--status ${JSON.stringify(text)} is none of ${STATUSES.join(", ")}.`);
}

function sinceOf(text: string, nowMs: number): number {
  const ms = parseSince(text.trim(), nowMs);
  if (ms !== null) return ms;
  throw new UsageError(`--since ${JSON.stringify(text)} is neither a date nor an age.`, {
    hint: "Dates look like 2026-01-31 or 2026-01-31T12:05, ages like 30m, 12h, 7d or 2w.",
  });
}
