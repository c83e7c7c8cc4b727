import { setMaxListeners } from "node:events";
import type { Provider } from "../../providers/provider.ts";

/** A job that its provider can be asked to stop. */
interface Stoppable {
  /** Our id of its task. */
  taskId: string;
  /** The provider, for people. */
  name: string;
  cancel: (signal: AbortSignal) => Promise<boolean | null>;
}

/** Result of asking a provider to stop. `isStopped`: its answer; null if it gave none in time. */
export interface Stopped extends Pick<Stoppable, "taskId" | "name"> {
  isStopped: boolean | null;
}

/**
 * The free jobs that this process waits for at providers that can cancel. If a second signal ends it, they are asked to stop;
 * nothing is recorded of that, so that `resume` finds out what has become of each.
 */
export class StoppableJobs {
  readonly #open = new Set<Stoppable>();
  readonly #onAdded: () => void;

  constructor(onAdded = () => {}) {
    this.#onAdded = onAdded;
  }

  /** The providers' names, each once. */
  get names(): string[] {
    return [...new Set([...this.#open].map(({ name }) => name))];
  }

  /** @param id the provider's own id @returns takes it out again: it is not waited for any more */
  add(task: Pick<Stoppable, "taskId" | "name">, id: string, provider: Provider): () => void {
    if (!provider.cancel) return () => {};
    const entry = {
      ...task,
      cancel: async (signal: AbortSignal) => (await provider.cancel?.(id, signal)) ?? null,
    };
    this.#open.add(entry);
    this.#onAdded();
    return () => void this.#open.delete(entry);
  }

  /** Asks for all of them to be stopped. Never throws. @param signal ends it @returns what came of each task */
  async stopAll(signal: AbortSignal): Promise<Stopped[]> {
    // Every question adds a listener, so a large number is not a leak.
    setMaxListeners(0, signal);
    const givenUp = new Promise<null>((resolve) => {
      if (signal.aborted) resolve(null);
      else signal.addEventListener("abort", () => resolve(null), { once: true });
    });
    const answers = await Promise.all(
      [...this.#open].map(async ({ taskId, name, cancel }) => {
        const isStopped = await Promise.race([cancel(signal).catch(() => null), givenUp]);
        return { taskId, name, isStopped };
      }),
    );
    const tasks = new Map<string, Stopped>();
    for (const each of answers) tasks.set(each.taskId, together(each, tasks.get(each.taskId)));
    return [...tasks.values()];
  }
}

/** Two requests of one task: it is stopped only if both are. */
function together(one: Stopped, other: Stopped = one): Stopped {
  const answers = [one.isStopped, other.isStopped];
  return { ...one, isStopped: answers.includes(null) ? null : answers.every(Boolean) };
}
