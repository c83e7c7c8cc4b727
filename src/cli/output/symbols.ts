import type { Environment } from "../../client/this-process.ts";

/** Precedes the line of an image that was saved. */
export const SAVED_MARK = "✓";

/**
 * Whether a terminal has more than letters: a dumb one may not, Linux's own console has few other characters, and the
 * locale C is ASCII.
 */
export function hasSymbols({ TERM, LC_ALL, LC_CTYPE, LANG }: Environment): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG;
  return TERM !== "dumb" && TERM !== "linux" && locale !== "C" && locale !== "POSIX";
}
