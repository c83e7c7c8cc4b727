import type { TaskDeps } from "./deps.ts";

/**
 * Does work under a signal that aborts with the run's own, and with `reason` when its time is over.
 * @returns null if it comes to nothing
 */
export async function withinLimit<Result>(
  ms: number,
  reason: Error,
  { clock, signal }: Pick<TaskDeps, "clock" | "signal">,
  work: (signal: AbortSignal) => Promise<Result | null | undefined>,
): Promise<Result | null> {
  const [limit, over] = [new AbortController(), new AbortController()];
  void clock.sleep(ms, over.signal).then(
    () => limit.abort(reason),
    () => {},
  );
  try {
    return (await work(AbortSignal.any([signal, limit.signal]))) ?? null;
  } finally {
    over.abort();
  }
}
