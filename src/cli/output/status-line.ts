import type { Context } from "../session/context.ts";
import type { Paint } from "../text/colors.ts";
import type { Console } from "../text/console.ts";
import type { StatusLine } from "./live-line.ts";

export interface StatusLineOptions {
  /** Colours its lines. */
  paint?: Paint;
  /**
   * Whether results go to standard output while the line is shown. What reads them from a pipe may print them in the
   * middle of it: `imggen batch … | tee log`.
   */
  isBesideResults?: boolean;
}

/** A status line for this terminal, or for output that is not a terminal. */
export async function createStatusLine(
  console: Console,
  context: Context,
  { paint = (line) => line, isBesideResults = false }: StatusLineOptions = {},
): Promise<StatusLine> {
  const { isTTY, columns } = context.stderr;
  // A terminal of no width is no place for a spinner: it would try to clear endless lines.
  const isMixed = isBesideResults && context.stdout.isPipe === true;
  const isLive = isTTY && !isMixed && columns !== 0 && context.env.TERM !== "dumb" && !console.quiet;
  if (!isLive) return { isLive: false, set() {}, stop() {} };
  const { createLiveLine } = await import("./live-line.ts");
  return createLiveLine(console, context, paint);
}
