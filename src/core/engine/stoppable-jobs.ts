import { setMaxListeners } from "node:events";
import type { Provider } from "../../providers/provider.ts";

interface StoppableJob {
  taskId: string;
  name: string;
  cancel: (signal: AbortSignal) => Promise<boolean | null>;
}

/** Result of cancelling a task. `isStopped`: the provider's reply; null if the provider did not reply in time. */
export interface StopResult extends Pick<StoppableJob, "taskId" | "name"> {
  isStopped: boolean | null;
}

/** Free jobs that a second signal cancels before the exit. The cancels are not recorded, because `resume` polls. */
export class StoppableJobs {
  readonly #open = new Set<StoppableJob>();
  readonly #onAdded: () => void;

  constructor(onAdded = () => {}) {
    this.#onAdded = onAdded;
  }

  get providerNames(): string[] {
    return [...new Set([...this.#open].map(({ name }) => name))];
  }

  /** @param id the provider's id of the job @returns a function that removes the job */
  add(task: Pick<StoppableJob, "taskId" | "name">, id: string, provider: Provider): () => void {
    if (!provider.cancel) return () => {};
    const entry = {
      ...task,
      cancel: async (signal: AbortSignal) => (await provider.cancel?.(id, signal)) ?? null,
    };
    this.#open.add(entry);
    this.#onAdded();
    return () => void this.#open.delete(entry);
  }

  /** Cancels all jobs. Never throws. @param signal ends the wait for replies @returns the result for each task */
  async stopAll(signal: AbortSignal): Promise<StopResult[]> {
    // Each cancel adds a listener, so many listeners are not a leak.
    setMaxListeners(0, signal);
    const aborted = new Promise<null>((resolve) => {
      if (signal.aborted) resolve(null);
      else signal.addEventListener("abort", () => resolve(null), { once: true });
    });
    const results = await Promise.all(
      [...this.#open].map(async ({ taskId, name, cancel }) => {
        const isStopped = await Promise.race([cancel(signal).catch(() => null), aborted]);
        return { taskId, name, isStopped };
      }),
    );
    const tasks = new Map<string, StopResult>();
    for (const result of results) tasks.set(result.taskId, mergeResults(result, tasks.get(result.taskId)));
    return [...tasks.values()];
  }
}

/** Combines the results of two jobs of one task. The task counts as stopped only if both jobs are stopped. */
function mergeResults(first: StopResult, second: StopResult = first): StopResult {
  const replies = [first.isStopped, second.isStopped];
  return { ...first, isStopped: replies.includes(null) ? null : replies.every(Boolean) };
}
