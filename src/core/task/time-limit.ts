import { formatDuration } from "../../lib/duration.ts";
import { TimeLimitError } from "../../providers/provider.ts";
import type { TaskDeps } from "../deps.ts";

type LimitDeps = Pick<TaskDeps, "clock" | "signal">;

/** The reason with which a request is given up that takes longer than it may. */
export function timeLimit(ms: number): TimeLimitError {
  return new TimeLimitError(`no answer within ${formatDuration(ms)}`);
}

/** Does work, and gives it up when its time is over. @returns null where it comes to nothing */
export async function withinLimit<Result>(
  ms: number,
  deps: LimitDeps,
  work: (signal: AbortSignal) => Promise<Result | null | undefined>,
): Promise<Result | null> {
  return (await abortedAfter(ms, timeLimit(ms), deps, work)) ?? null;
}

/** Does work under a signal that aborts with the run's own, and after this time with `reason`. */
export async function abortedAfter<Result>(
  ms: number,
  reason: Error,
  { clock, signal }: LimitDeps,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const [limit, over] = [new AbortController(), new AbortController()];
  void clock.sleep(ms, over.signal).then(
    () => limit.abort(reason),
    () => {},
  );
  try {
    return await work(AbortSignal.any([signal, limit.signal]));
  } finally {
    over.abort();
  }
}
