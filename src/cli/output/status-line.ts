import type { Context } from "../app/context.ts";
import type { Paint } from "./colors.ts";
import type { Console } from "./console.ts";
import type { StatusLine } from "./live-line.ts";

/** A status line for this terminal, or for output that is not a terminal. @param paint colours its lines */
export async function createStatusLine(
  console: Console,
  context: Context,
  paint: Paint = (line) => line,
): Promise<StatusLine> {
  const { isTTY, columns } = context.stderr;
  // A terminal of no width is no place for a spinner: it would try to clear endless lines.
  const isLive = isTTY && columns !== 0 && context.env.TERM !== "dumb" && !console.quiet;
  if (!isLive) return { isLive: false, set() {}, stop() {} };
  const { createLiveLine } = await import("./live-line.ts");
  return createLiveLine(console, context, paint);
}
