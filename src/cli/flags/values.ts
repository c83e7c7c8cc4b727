import { parseDuration } from "../../lib/duration.ts";
import { UsageError } from "../../lib/error-types.ts";

// Raw flag texts become domain values here, once.

/** A duration in milliseconds. @throws UsageError naming the flag */
export function durationOption(label: string, text: string, limits: { minMs?: number } = {}): number {
  const ms = parseDuration(text);
  if (ms === null) {
    throw new UsageError(`${label} ${JSON.stringify(text)} is not a duration.`, {
      hint: "Use a duration such as 90, 90s, 1500ms or 5m, of at most 7 days.",
    });
  }
  if (ms < (limits.minMs ?? 0)) throw new UsageError(`${label} must be at least ${limits.minMs} ms.`);
  return ms;
}

/** How long to wait, in milliseconds; no time at all is a mistake. @throws UsageError naming the flag */
export function timeoutOption(label: string, text: string): number {
  const ms = durationOption(label, text);
  if (ms > 0) return ms;
  throw new UsageError(`${label} must be more than 0.`, {
    hint: "Use a duration such as 90, 90s, 1500ms or 5m.",
  });
}

/** For a flag that may be repeated: its values in order. */
export function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}
