import type { Ora } from "ora";
import { escapeControls } from "../../lib/escape.ts";
import type { Context } from "../session/context.ts";
import type { Session } from "../session/session.ts";
import { type Paint, PLAIN, TEXT_STYLES } from "../text/colors.ts";
import type { Console } from "../text/console.ts";

type StatusText = string | ((columns: number) => readonly string[]);

export interface StatusLine {
  readonly isLive: boolean;
  set(text: StatusText): void;
  stop(): void;
}

export interface StatusLineOptions {
  paint?: Paint;
  /**
   * Whether results are written to standard output while status lines are shown. If standard output is a pipe, as in
   * `imggen batch … | tee log`, status lines are not shown, because results would be mixed with status lines.
   */
  isBesideResults?: boolean;
}

export async function createStatusLine(
  { console, context }: Session,
  { paint = (line) => line, isBesideResults = false }: StatusLineOptions = {},
): Promise<StatusLine> {
  const { isTTY, columns } = context.stderr;
  const isMixed = isBesideResults && context.stdout.isPipe === true;
  const isForPerson = !console.quiet && !console.events;
  // On a terminal of width 0, a spinner would try to clear an infinite number of rows.
  const isLive = isTTY && !isMixed && columns !== 0 && context.env.TERM !== "dumb" && isForPerson;
  return isLive ? createLiveLine(console, context, paint) : { isLive: false, set() {}, stop() {} };
}

const SPINNER_COLUMNS = 2;
const DEFAULT_COLUMNS = 80;
/** Interval at which a background process checks whether it is in the foreground again, in milliseconds. */
const FOREGROUND_CHECK_MS = 80;

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
  /** Additional rows due to wrapping. Each line is indented by the width of the spinner. */
  const addedRows = (lines: readonly string[]) =>
    lines.reduce((sum, line) => sum + Math.ceil((countColumns(line) + SPINNER_COLUMNS) / columns()) - 1, 0);
  let isStopped = true;
  let isInBackground = false;
  let text: StatusText = "";
  let drawnLines: string[] = [];
  /** Lines before the last change, because a resize can be reported late. */
  let previousLines: string[] = [];
  let drawnColumns = columns();
  const paintLines = (mark: (line: string) => string) => {
    const indent = " ".repeat(SPINNER_COLUMNS);
    return drawnLines.map((line, at) => (at === 0 ? "" : indent) + mark(paint(line, at))).join("\n");
  };
  const draw = () => {
    drawnColumns = columns();
    const room = drawnColumns - SPINNER_COLUMNS;
    const lines = typeof text === "string" ? [text] : text(room);
    previousLines = drawnLines;
    drawnLines = lines.map((line) => cutTo(escapeControls(line), room));
    spinner.text = paintLines(unwrapped);
  };
  const start = () => {
    if (isStopped || isInBackground || spinner.isSpinning) return;
    previousLines = drawnLines;
    // The first frame may wrap, so that the spinner counts its rows.
    spinner.text = paintLines((line) => line);
    spinner.start();
    spinner.text = paintLines(unwrapped);
  };
  // After a resize, the lines occupy another number of rows, but the spinner clears the old number. If the exact number
  // is uncertain, the smaller number is cleared, so that no row of other output is lost.
  const onResize = () => {
    if (isStopped || isInBackground) return;
    const rows = Math.min(addedRows(drawnLines), addedRows(previousLines));
    spinner.stop();
    if (columns() < drawnColumns) console.clearAbove(rows);
    draw();
    start();
  };
  stderr.on?.("resize", onResize);
  // After Ctrl-Z and `bg`, the shell uses the terminal until `fg`, so nothing is drawn.
  const resumeInForeground = () => {
    isInBackground = !context.isInForeground();
    start();
  };
  const timer = setInterval(() => {
    if (isInBackground) resumeInForeground();
  }, FOREGROUND_CHECK_MS).unref();
  // Stopping the spinner restores the cursor for the shell.
  const removeSuspendListeners = context.onSuspend(() => {
    spinner.stop();
    // A timer can fire before the handler of SIGCONT runs, so drawing is off until then.
    isInBackground = true;
  }, resumeInForeground);
  console.beforeWrite = () => {
    if (!isStopped && !isInBackground) spinner.stop();
  };
  console.afterWrite = start;
  return {
    isLive: true,
    set(next) {
      text = next;
      draw();
      if (!isStopped || drawnLines.length === 0) return;
      isStopped = false;
      start();
    },
    stop() {
      clearInterval(timer);
      stderr.off?.("resize", onResize);
      removeSuspendListeners();
      isStopped = true;
      spinner.stop();
    },
  };
}

/** Makes the terminal cut a line instead of wrapping it, because the spinner does not clear the additional rows. */
function unwrapped(line: string): string {
  return `\u001b[?7l${line}\u001b[?7h`;
}
