/**
 * Maps with at most `limit` concurrent calls; results are in the order of the items. After an error no call is
 * started; it is thrown once the running calls have ended.
 */
export async function mapConcurrent<Item, Result>(
  items: readonly Item[],
  limit: number,
  map: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  const queue = items.entries();
  let failed = false;
  const worker = async () => {
    for (const [index, item] of queue) {
      if (failed) return;
      try {
        results[index] = await map(item, index);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: Math.min(limit, items.length) }, worker);
  await Promise.allSettled(workers);
  await Promise.all(workers);
  return results;
}

/**
 * Handles results in the order of their promises, each as soon as those before it are handled.
 * @returns the results of `take`; the first error ends it
 */
export async function inOrder<Item, Result>(
  pending: readonly Promise<Item>[],
  take: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const all = Promise.all(pending);
  // A rejection before its turn is thrown at its turn.
  all.catch(() => {});
  const results: Result[] = [];
  for (const each of pending) results.push(await take(await each));
  return results;
}

/** A limit on concurrency. Further callers wait in the order of their calls. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}

/** Waiters for a condition, woken in the order of their calls. */
export class WaitQueue {
  #waiting: (() => void)[] = [];

  /** Waits until woken. @throws the signal's reason */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const wake = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((each) => each !== wake);
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(wake);
    });
  }

  wakeOne(): void {
    this.#waiting.shift()?.();
  }

  wakeAll(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
