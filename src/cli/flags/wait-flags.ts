import type { Command } from "commander";
import { fixedSchedule, SHORTEST_POLL_INTERVAL_MS } from "../../core/polling/fixed-schedules.ts";
import type { WaitSettings } from "../../core/polling/wait.ts";
import { durationOption, timeoutOption } from "../../lib/duration.ts";
import { UsageError } from "../../lib/error-types.ts";
import { OPTION_GROUPS } from "../session/command.ts";
import type { Session } from "../session/session.ts";

/** Flags of every command that waits. */
export interface WaitFlags {
  timeout?: string;
  pollInterval?: string;
  requestTimeout?: string;
}

/** `--yes` of commands that continue tasks. */
export const OTHER_KEY_HELP = "continue with another API key than the task was submitted with";

/** What `--progress` takes. */
export const PROGRESS_FORMATS = ["auto", "json"];
const PROGRESS_HELP = "auto, or json: a JSON line on standard error for each event (default: auto)";

/** `--timeout` where images come from a generator. */
const AT_GENERATOR =
  "; with a generator, counted from when a request is sent: a free request is then given up, a paid one is still waited for";

/** @throws UsageError */
function progressFormat(text: string): string {
  if (PROGRESS_FORMATS.includes(text)) return text;
  const hint = "json is for programs: see imggen help json";
  throw new UsageError(`--progress ${JSON.stringify(text)} is neither auto nor json.`, { hint });
}

/**
 * Adds the flags of a wait. The advanced ones are the last, so that a command may add its own to them.
 * @param timeout what `--timeout` limits
 * @param when begins both texts, where a command waits only with another flag
 */
export function addWaitOptions(command: Command, timeout: string, when = ""): Command {
  const interval = "poll at a fixed interval, 100ms or more (default: automatic)";
  const defaults = "submit 120s, poll 15s, idle download 30s";
  return command
    .option("--timeout <duration>", `${when}${timeout}${AT_GENERATOR} (default: 180s, 600s for 4K)`)
    .option("--progress <format>", PROGRESS_HELP, progressFormat)
    .optionsGroup(OPTION_GROUPS.advanced)
    .option("--poll-interval <duration>", `${when}${interval}`)
    .option("--request-timeout <duration>", `timeout of a single request (default: ${defaults})`);
}

/** How long to wait, and when to poll. @throws UsageError */
export function waitSettings(flags: WaitFlags, session: Session): WaitSettings {
  const timeout = session.settings.get("timeout", { value: flags.timeout, label: "--timeout" });
  const timeoutMs = timeout ? timeoutOption(timeout.label, timeout.value) : null;
  if (flags.pollInterval === undefined) return { timeoutMs, schedule: null };
  const limits = { minMs: SHORTEST_POLL_INTERVAL_MS };
  const intervalMs = durationOption("--poll-interval", flags.pollInterval, limits);
  return { timeoutMs, schedule: fixedSchedule(intervalMs) };
}

/** `--request-timeout` in milliseconds; undefined: the default of each kind of request. @throws UsageError */
export function requestTimeout(flags: WaitFlags): number | undefined {
  if (flags.requestTimeout === undefined) return undefined;
  return durationOption("--request-timeout", flags.requestTimeout, { minMs: 1 });
}
