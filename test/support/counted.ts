/** A count that can be waited for. */
export interface Counted {
  readonly count: number;
  /** Counts one more. @returns the count */
  add(): number;
  /** Resolves once so many were counted. */
  reached(count: number): Promise<void>;
}

export function counted(): Counted {
  const waiting: { at: number; resolve: () => void }[] = [];
  let count = 0;
  return {
    get count() {
      return count;
    },
    add() {
      count += 1;
      for (const { at, resolve } of waiting) if (at <= count) resolve();
      return count;
    },
    reached: (at) =>
      new Promise((resolve) => {
        if (at <= count) resolve();
        else waiting.push({ at, resolve });
      }),
  };
}
