import type { HistoryStatus } from "../../core/use-cases/history.ts";
import { type Group, type Options, option, optionsOfGroup } from "./option.ts";

const advanced = optionsOfGroup("Advanced");

export const VIEW = {
  preview: option("flag", "--preview", "show the images in the terminal", { group: "Output" }),
  open: option("flag", "--open", "open the images with the system's viewer", { group: "Output" }),
} satisfies Options;

/** @param options.when prefix of help texts, such as `with --wait: ` */
export function waitOptions(
  limitedWait: string,
  { when: prefix = "", group }: { when?: string; group?: Group } = {},
) {
  return {
    /** Maximum wait for a result in milliseconds. Default: 180,000, and 600,000 for 4K. */
    timeoutMs: option(
      "duration",
      "--timeout <duration>",
      `${prefix}${limitedWait}; with a generator, starting at the submit. After this time, free requests are abandoned, and paid requests continue (default: 180s, 600s for 4K)`,
      { group, min: 1 },
    ),
    progress: option(
      "text",
      "--progress <format>",
      "format of progress: auto, or json for a JSON line per event on standard error (default: auto)",
      { group, choices: ["auto", "json"] },
    ),
    /** Fixed poll interval in milliseconds, at least 100. Default: automatic. */
    pollIntervalMs: advanced(
      "duration",
      "--poll-interval <duration>",
      `${prefix}poll at a fixed interval, 100ms or more (default: automatic)`,
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
export const OTHER_KEY = {
  /** Continues tasks that were submitted with a different API key. Default false. */
  yes: option("flag", "--yes", "continue tasks that were submitted with a different API key"),
} satisfies Options;

export const STATUS = {
  /** Polls until the task is finished. Default: polls once. */
  wait: option("flag", "--wait", "poll until each task is finished"),
  output: option("path", "-o, --output <path>", "save the images of completed tasks there"),
  overwrite,
  ...OTHER_KEY,
  preview,
  ...waitOptions("how long to wait", { when: "with --wait: " }),
} satisfies Options;

export const RESUME = {
  output: option(
    "path",
    "-o, --output <path>",
    "save the images to this path instead of the path of the original command",
  ),
  overwrite,
  dismiss: option(
    "flag",
    "--dismiss",
    "stop tracking tasks of unknown outcome, and tasks that their service no longer has",
  ),
  ...OTHER_KEY,
  preview,
  ...waitOptions("how long to wait for each task"),
} satisfies Options;

export const CANCEL = {
  all: option(
    "flag",
    "--all",
    "cancel every task that can be cancelled, except tasks of a running imggen serve",
  ),
  /** Waits for paid requests in flight. Default: paid requests in flight are only listed. */
  wait: option("flag", "--wait", "wait for paid requests in flight"),
  /** Cancels paid tasks with `--all`, and tasks that were submitted with a different API key. Default false. */
  yes: option(
    "flag",
    "--yes",
    "cancel without confirmation: paid tasks with --all, and tasks submitted with a different API key",
  ),
  ...waitOptions("how long to wait", { when: "with --wait: " }),
} satisfies Options;

export const FORGET = {
  before: option(
    "text",
    "--before <when>",
    "remove all finished tasks from before a day (2026-01-31), or older than an age (12h, 30d, 2w)",
  ),
  yes: option("flag", "--yes", "skip the confirmation of --before"),
} satisfies Options;

const HISTORY_STATUSES: readonly HistoryStatus[] = [
  "completed",
  "unfinished",
  "waiting",
  "running",
  "accepted",
  "made",
  "unknown",
  "failed",
  "cancelled",
];

export const HISTORY = {
  /** Maximum number of tasks. Default 20. */
  limit: option("whole", "--limit <n>", "number of tasks to show (default: 20)", {
    min: 1,
    agents: "Maximum number of tasks.",
  }),
  all: option("flag", "--all", "show every task"),
  unfinished: option(
    "flag",
    "--unfinished",
    "show unfinished tasks: waiting, running, accepted, made or unknown",
  ),
  summary: option("flag", "--summary", "show credits and images by day and model"),
  /** Prefixes of words of the prompt, case-insensitive. */
  search: option(
    "text",
    "--search <text>",
    "only tasks whose prompt has these words; the beginning of a word is enough",
    {
      agents: "Prefixes of words of the prompt, case-insensitive.",
    },
  ),
  /**
   * `completed` (saved), `failed`, `cancelled`, or the state of an unfinished task: `waiting`, `running`,
   * `accepted`, `made`, `unknown`. `unfinished` matches every unfinished task.
   */
  status: option("text", "--status <status>", `only tasks with this status: ${HISTORY_STATUSES.join(", ")}`, {
    choices: HISTORY_STATUSES,
    agents: "completed means saved. unfinished means waiting, running, accepted, made or unknown.",
  }),
  /** Id of a model, or the part after its slash. */
  model: option("text", "--model <id>", "only tasks of this model", {
    suggestions: "model",
    agents: "Only tasks of this model.",
  }),
  /** A day such as `2026-01-31`, or an age such as `12h`, `7d`, `2w`. */
  since: option(
    "text",
    "--since <when>",
    "only tasks since a day (2026-01-31, yesterday), or of the last hours, days or weeks (12h, 7d, 2w)",
    { agents: "A day such as 2026-01-31, or an age such as 12h, 7d, 2w." },
  ),
} satisfies Options;
