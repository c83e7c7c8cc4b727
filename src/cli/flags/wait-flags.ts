import { fixedSchedule } from "../../core/polling/fixed.ts";
import type { WaitSettings } from "../../core/polling/wait-settings.ts";
import type { Session } from "../app/session.ts";
import { durationOption, timeoutOption } from "./values.ts";

/** Flags of every command that waits. */
export interface WaitFlags {
  timeout?: string;
  pollInterval?: string;
  requestTimeout?: string;
}

const SHORTEST_POLL_INTERVAL_MS = 100;

/** How long to wait, and how often to look. @throws UsageError */
export async function waitSettings(flags: WaitFlags, session: Session): Promise<WaitSettings> {
  const timeout = await session.settings.get("timeout", { value: flags.timeout, label: "--timeout" });
  const timeoutMs = timeout ? timeoutOption(timeout.label, timeout.value) : null;
  if (flags.pollInterval === undefined) return { timeoutMs, schedule: null };
  const limits = { minMs: SHORTEST_POLL_INTERVAL_MS };
  const intervalMs = durationOption("--poll-interval", flags.pollInterval, limits);
  return { timeoutMs, schedule: fixedSchedule(intervalMs) };
}

/** `--request-timeout` in milliseconds; undefined leaves each request its own. @throws UsageError */
export function requestTimeout(flags: WaitFlags): number | undefined {
  if (flags.requestTimeout === undefined) return undefined;
  return durationOption("--request-timeout", flags.requestTimeout, { minMs: 1 });
}
