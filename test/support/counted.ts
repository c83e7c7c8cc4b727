/** A count that can be waited for. */
export function counted() {
  const waiting: { at: number; resolve: () => void }[] = [];
  let count = 0;
  return {
    get count() {
      return count;
    },
    /** Counts one more. @returns the count */
    add() {
      count += 1;
      for (const { at, resolve } of waiting) if (at <= count) resolve();
      return count;
    },
    /** Resolves once so many were counted. */
    reached: (at: number) =>
      new Promise<void>((resolve) => {
        if (at <= count) resolve();
        else waiting.push({ at, resolve });
      }),
  };
}
