import type { TaskDeps } from "./deps.ts";

/** Runs `work` with a signal that aborts with the run's signal, or with `reason` after `ms`. */
export async function withinLimit<Result>(
  ms: number,
  reason: Error,
  { clock, signal }: Pick<TaskDeps, "clock" | "signal">,
  work: (signal: AbortSignal) => Promise<Result | null | undefined>,
): Promise<Result | null> {
  const [limit, workEnd] = [new AbortController(), new AbortController()];
  void clock.sleep(ms, workEnd.signal).then(
    () => limit.abort(reason),
    () => {},
  );
  try {
    return (await work(AbortSignal.any([signal, limit.signal]))) ?? null;
  } finally {
    workEnd.abort();
  }
}
