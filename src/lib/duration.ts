import { UsageError } from "./error-types.ts";

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const MAX_MS = 7 * 24 * 3_600_000;

/** Parses `90` (seconds), `90s`, `1500ms`, `1.5m`, `2h` to milliseconds; null if invalid or above seven days. */
export function parseDuration(text: string): number | null {
  const [, amount, unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text.trim()) ?? [];
  if (amount === undefined) return null;
  const ms = Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  return ms <= MAX_MS ? Math.round(ms) : null;
}

/** @throws UsageError naming the flag */
export function parseDurationOption(label: string, text: string, limits: { minMs?: number } = {}): number {
  const ms = parseDuration(text);
  if (ms === null) {
    throw new UsageError(`${label} ${JSON.stringify(text)} is not a duration.`, {
      hint: "Use a duration such as 90, 90s, 1500ms or 5m, of at most 7 days.",
    });
  }
  if (ms < (limits.minMs ?? 0))
    throw new UsageError(`${label} must be at least ${limits.minMs} ms.`, {
      hint: "Use a duration such as 90, 90s, 1500ms or 5m.",
    });
  return ms;
}

/** @throws UsageError naming the flag */
export function parseTimeoutOption(label: string, text: string): number {
  const ms = parseDurationOption(label, text);
  if (ms > 0) return ms;
  throw new UsageError(`${label} must be more than 0.`, {
    hint: "Use a duration such as 90, 90s, 1500ms or 5m.",
  });
}

/** Formats milliseconds: `850 ms`, `8.1 s`, `2 min 5 s`, `1 h 3 min`. Negative durations are `0 ms`. */
export function formatDuration(ms: number): string {
  // Rounds before it chooses the unit, so that 59.99 s becomes "1 min" and not "60 s".
  const wholeMs = Math.max(0, Math.round(ms));
  if (wholeMs < 1000) return `${wholeMs} ms`;
  const tenths = Math.round(ms / 100);
  if (tenths < 600) return `${tenths / 10} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return pair(seconds, "min", "s");
  return pair(Math.round(ms / 60_000), "h", "min");
}

function pair(count: number, larger: string, smaller: string): string {
  const rest = count % 60;
  const whole = `${Math.floor(count / 60)} ${larger}`;
  return rest === 0 ? whole : `${whole} ${rest} ${smaller}`;
}
