import type { Environment } from "../../client/this-process.ts";

/** Precedes the line of an image that was saved. */
export const SAVED_MARK = "✓";

/** Whether a terminal has more than letters: a dumb one may not, and Linux's own console has few other characters. */
export function hasSymbols({ TERM }: Environment): boolean {
  return TERM !== "dumb" && TERM !== "linux";
}
