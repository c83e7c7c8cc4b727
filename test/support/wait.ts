import { setTimeout } from "node:timers/promises";

/** A time in milliseconds that a double takes to answer, or in which nothing must happen. */
export const pause = (ms = 50): Promise<void> => setTimeout(ms);

/** Waits until something is so; a test that waits in vain ends at its time limit. */
export async function until(isSo: () => unknown): Promise<void> {
  while (!isSo()) await setTimeout(5);
}
