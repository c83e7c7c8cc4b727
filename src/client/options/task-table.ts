import type { HistoryStatus } from "../../core/use-cases/history.ts";
import { type Group, inGroup, type Options, option } from "./option.ts";

const advanced = inGroup("Advanced");

/** Options of commands that show the images that they save. */
export const VIEW = {
  preview: option("flag", "--preview", "show the images in the terminal", { group: "Output" }),
  open: option("flag", "--open", "open the images with the system's viewer", { group: "Output" }),
} satisfies Options;

/**
 * Options of every command that waits.
 * @param what what `--timeout` limits
 * @param where.when begins both texts, if a command waits only with another flag
 */
export function waitOptions(what: string, { when = "", group }: { when?: string; group?: Group } = {}) {
  return {
    timeoutMs: option(
      "duration",
      "--timeout <duration>",
      `${when}${what}; with a generator, counted from when a request is sent: a free request is then given up, a paid one is still waited for (default: 180s, 600s for 4K)`,
      { group, min: 1 },
    ),
    progress: option(
      "text",
      "--progress <format>",
      "auto, or json: a JSON line on standard error for each event (default: auto)",
      { group, choices: ["auto", "json"] },
    ),
    pollIntervalMs: advanced(
      "duration",
      "--poll-interval <duration>",
      `${when}poll at a fixed interval, 100ms or more (default: automatic)`,
      { min: 100 },
    ),
    requestTimeoutMs: advanced(
      "duration",
      "--request-timeout <duration>",
      "timeout of a single request (default: submit 120s, poll 15s, idle download 30s)",
      { min: 1 },
    ),
  } satisfies Options;
}

const overwrite = option("flag", "--overwrite", "replace existing files");
const preview = option("flag", "--preview", "show the images in the terminal");
const otherKey = option("flag", "--yes", "continue with another API key than the task was submitted with");

export const STATUS = {
  wait: option("flag", "--wait", "poll until each task is finished"),
  output: option("path", "-o, --output <path>", "save the images of completed tasks there"),
  overwrite,
  yes: otherKey,
  preview,
  ...waitOptions("how long to wait", { when: "with --wait: " }),
} satisfies Options;

export const RESUME = {
  output: option("path", "-o, --output <path>", "override the saved output path"),
  overwrite,
  dismiss: option(
    "flag",
    "--dismiss",
    "dismiss requests whose outcome is unknown, or that their service no longer knows",
  ),
  yes: otherKey,
  preview,
  ...waitOptions("how long to wait for each task"),
} satisfies Options;

export const CANCEL = {
  wait: option("flag", "--wait", "wait for paid requests that are on their way"),
  yes: otherKey,
  ...waitOptions("how long to wait", { when: "with --wait: " }),
} satisfies Options;

/** Statuses that tasks can be filtered by. */
const STATUSES = [
  "completed",
  "unfinished",
  "waiting",
  "running",
  "accepted",
  "made",
  "unknown",
  "failed",
  "cancelled",
] as const satisfies readonly HistoryStatus[];

export const HISTORY = {
  limit: option("whole", "--limit <n>", "how many to show (default: 20)", { min: 1 }),
  all: option("flag", "--all", "show every task"),
  unfinished: option(
    "flag",
    "--unfinished",
    "show what is open: waiting, running, accepted, made or unknown",
  ),
  summary: option("flag", "--summary", "show credits and images by day and model"),
  search: option("text", "--search <text>", "only prompts with words that begin like these"),
  status: option("text", "--status <status>", `only this status: ${STATUSES.join(", ")}`, {
    choices: STATUSES,
  }),
  model: option("text", "--model <id>", "only this model", { known: "model" }),
  since: option(
    "text",
    "--since <when>",
    "only since a day such as 2026-01-31 or yesterday, or an age: 12h, 7d, 2w",
  ),
} satisfies Options;
