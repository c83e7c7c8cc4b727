/** After an error, no further call starts, and the error is thrown when the running calls have ended. */
export async function mapConcurrent<Item, Result>(
  items: readonly Item[],
  limit: number,
  map: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  const queue = items.entries();
  let hasFailed = false;
  const worker = async () => {
    for (const [index, item] of queue) {
      if (hasFailed) return;
      try {
        results[index] = await map(item, index);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: Math.min(limit, items.length) }, worker);
  await Promise.allSettled(workers);
  await Promise.all(workers);
  return results;
}

/** Calls `handle` for each result in the order of `pending`, without waiting for later promises. */
export async function mapInOrder<Item, Result>(
  pending: readonly Promise<Item>[],
  handle: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const all = Promise.all(pending);
  // Prevents an unhandled rejection if a promise fails before the loop reaches it.
  all.catch(() => {});
  const results: Result[] = [];
  for (const promise of pending) results.push(await handle(await promise));
  return results;
}

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

export class WaitQueue {
  #waiting: (() => void)[] = [];

  /** @throws the signal's reason */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const wake = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((waiting) => waiting !== wake);
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
