import type { Ora } from "ora";
import { escapeControls } from "../../lib/escape.ts";
import type { Context } from "../session/context.ts";
import type { Session } from "../session/session.ts";
import { type Paint, PLAIN, TEXT_STYLES } from "../text/colors.ts";
import type { Console } from "../text/console.ts";

/** A line, or lines made for so many columns. */
type StatusText = string | ((columns: number) => readonly string[]);

/** Lines at the end of the terminal that are rewritten as the work progresses; nothing if there is no terminal. */
export interface StatusLine {
  /** False without a terminal. */
  readonly isLive: boolean;
  set(text: StatusText): void;
  stop(): void;
}

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
  { console, context }: Session,
  { paint = (line) => line, isBesideResults = false }: StatusLineOptions = {},
): Promise<StatusLine> {
  const { isTTY, columns } = context.stderr;
  // A terminal of no width is no place for a spinner: it would try to clear endless lines.
  const isMixed = isBesideResults && context.stdout.isPipe === true;
  const isForPeople = !console.quiet && !console.events;
  const isLive = isTTY && !isMixed && columns !== 0 && context.env.TERM !== "dumb" && isForPeople;
  return isLive ? createLiveLine(console, context, paint) : { isLive: false, set() {}, stop() {} };
}

const SPINNER_COLUMNS = 2;
const DEFAULT_COLUMNS = 80;
/** Interval of the check whether a program in the background is in the foreground again. */
const CHECK_MS = 80;

/** A spinner and a few lines of text that stay at the end of a terminal, whatever else is written to it. */
async function createLiveLine(console: Console, context: Context, paint: Paint): Promise<StatusLine> {
  const { default: ora } = await import("ora");
  const { countColumns, cutTo } = await import("../text/terminal-columns.ts");
  const { stderr } = context;
  const hasColors = console.style("stderr") !== PLAIN;
  const spinner: Ora = ora({
    stream: stderr as unknown as NodeJS.WritableStream,
    discardStdin: false,
    color: hasColors ? TEXT_STYLES.activity : false,
  });
  const columns = () => stderr.columns || DEFAULT_COLUMNS;
  /** Number of additional rows due to wrapping; each line is indented by the width of the spinner. */
  const addedRows = (lines: readonly string[]) =>
    lines.reduce((sum, line) => sum + Math.ceil((countColumns(line) + SPINNER_COLUMNS) / columns()) - 1, 0);
  let resting = true;
  let isInBackground = false;
  let text: StatusText = "";
  let drawn: string[] = [];
  /** The previous drawing: a resize may be reported only after the text has changed. */
  let drawnBefore: string[] = [];
  let drawnAt = columns();
  const painted = (mark: (line: string) => string) => {
    const indent = " ".repeat(SPINNER_COLUMNS);
    return drawn.map((line, at) => (at === 0 ? "" : indent) + mark(paint(line, at))).join("\n");
  };
  const draw = () => {
    drawnAt = columns();
    const room = drawnAt - SPINNER_COLUMNS;
    const lines = typeof text === "string" ? [text] : text(room);
    drawnBefore = drawn;
    drawn = lines.map((line) => cutTo(escapeControls(line), room));
    spinner.text = painted(unwrapped);
  };
  const start = () => {
    if (resting || isInBackground || spinner.isSpinning) return;
    drawnBefore = drawn;
    // The first frame may be wrapped: it takes as many rows as one that the terminal wraps again at a resize.
    spinner.text = painted((line) => line);
    spinner.start();
    spinner.text = painted(unwrapped);
  };
  // The terminal has wrapped the lines again, and the spinner only knows how many there were. It is better to
  // clear too few rows than one that is not ours.
  const onResize = () => {
    if (resting || isInBackground) return;
    const rows = Math.min(addedRows(drawn), addedRows(drawnBefore));
    spinner.stop();
    if (columns() < drawnAt) console.clearAbove(rows);
    draw();
    start();
  };
  stderr.on?.("resize", onResize);
  // After Ctrl-Z, and then bg, the terminal is the shell's until fg.
  const comeForward = () => {
    isInBackground = !context.isInForeground();
    start();
  };
  const timer = setInterval(() => {
    if (isInBackground) comeForward();
  }, CHECK_MS).unref();
  // While suspended, the shell gets its cursor back, and no stale line is left.
  const endSuspending = context.onSuspend(() => {
    spinner.stop();
    // The spinner's timer may fire before the handler of SIGCONT runs.
    isInBackground = true;
  }, comeForward);
  console.beforeWrite = () => {
    if (!resting && !isInBackground) spinner.stop();
  };
  console.afterWrite = start;
  return {
    isLive: true,
    set(next) {
      text = next;
      draw();
      if (!resting || drawn.length === 0) return;
      resting = false;
      start();
    },
    stop() {
      clearInterval(timer);
      stderr.off?.("resize", onResize);
      endSuspending();
      resting = true;
      spinner.stop();
    },
  };
}

/**
 * A line that the terminal cuts instead of wrapping it. A resize may be reported some frames late, and a frame
 * that replaces a wrapped one must not be wrapped too: each would push rows up that nothing clears.
 */
function unwrapped(line: string): string {
  return `\u001b[?7l${line}\u001b[?7h`;
}
