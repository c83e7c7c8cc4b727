import { automaticCadence, uniformCadence } from "../core/cadence.ts";
import type { WaitSettings } from "../core/finish.ts";
import { durationOption } from "./options.ts";
import type { Session } from "./session.ts";

/** Flags of every command that waits. */
export interface WaitFlags {
  timeout?: string;
  pollInterval?: string;
  requestTimeout?: string;
}

// The reference client's 60 looks, 3 s apart (section 4.2); the largest pictures take longer.
const TIMEOUT_MS = 180_000;
const TIMEOUT_4K_MS = 600_000;
const SHORTEST_POLL_INTERVAL_MS = 100;

/** How long to wait, and how often to look. @throws UsageError */
export async function waitSettings(
  flags: WaitFlags,
  session: Session,
  quality?: string,
): Promise<WaitSettings> {
  const timeout = await session.settings.get("timeout", { value: flags.timeout, label: "--timeout" });
  const standard = quality === "4K" ? TIMEOUT_4K_MS : TIMEOUT_MS;
  const timeoutMs = timeout ? durationOption(timeout.label, timeout.value) : standard;
  if (flags.pollInterval === undefined) return { timeoutMs, cadence: automaticCadence };
  const limits = { minMs: SHORTEST_POLL_INTERVAL_MS };
  const intervalMs = durationOption("--poll-interval", flags.pollInterval, limits);
  return { timeoutMs, cadence: uniformCadence(intervalMs) };
}

/** `--request-timeout` in milliseconds; undefined leaves each request its own. @throws UsageError */
export function requestTimeout(flags: WaitFlags): number | undefined {
  if (flags.requestTimeout === undefined) return undefined;
  return durationOption("--request-timeout", flags.requestTimeout, { minMs: 1 });
}
