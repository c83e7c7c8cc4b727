import type { Clock } from "../../lib/clock.ts";
import { formatDuration } from "../../lib/duration.ts";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";

/** Several questions of 15 s each. */
const MOST_MS = 60_000;

/**
 * Waits for a package's own code for a limited time, because it may never settle and may ignore the signal. The timer keeps
 * the process alive, which would end without a word otherwise.
 * @throws the signal's reason, or an Error that says how long it was waited for
 */
export async function waitForPackage<Result>(
  work: Result | Promise<Result>,
  signal: AbortSignal,
  { sleep }: Pick<Clock, "sleep">,
  limitMs = MOST_MS,
): Promise<Result> {
  const over = new AbortController();
  const ms = Math.min(limitMs, MOST_MS);
  const late = sleep(ms, AbortSignal.any([signal, over.signal])).then(() => {
    throw new Error(`the package does not answer within ${formatDuration(ms)}`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

/** Calls a package's own code that sends nothing. @throws UsageError for whatever it throws */
export function callPackage<Result>(title: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    throw new UsageError(`The package for ${title} cannot be used: ${errorText(cause)}.`, {
      hint: "Nothing was sent. Its author can mend that.",
      cause,
    });
  }
}
