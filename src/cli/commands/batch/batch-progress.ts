import type { BatchEvents, BatchSpec } from "../../../core/batch/batch-spec.ts";
import type { BatchCounts } from "../../../core/batch/counts.ts";
import type { BatchPlan } from "../../../core/batch/plan.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { reportStatus } from "../../../core/task/report.ts";
import { formatDuration } from "../../../lib/duration.ts";
import { type EventLine, eventProgress } from "../../output/event-lines.ts";
import { createStatusLine } from "../../output/status-line.ts";
import { type Progress, tellAnyway } from "../../output/task-progress.ts";
import type { Session } from "../../session/session.ts";
import type { Paint, TextStyle } from "../../text/colors.ts";
import { hasSymbols } from "../../text/colors.ts";
import type { Console } from "../../text/console.ts";
import { stoppingText } from "../../text/phrases.ts";
import { BAR, type BatchView, batchLines } from "./bar.ts";
import { rowNotes } from "./row-notes.ts";

/** Shows how a batch is getting on: a bar on a terminal, and a line for each row that fails. */
export interface BatchProgress
  extends Progress,
    Required<Pick<BatchEvents, "onOutage" | "onPause" | "onStart">> {
  /** What is going to be done. */
  plan(plan: BatchPlan): void;
  end(end: RowResult, counts: BatchCounts): void;
}

const WORTH_A_WORD_MS = 5_000;
const REDRAW_MS = 1_000;

export async function createBatchProgress(
  session: Session,
  { nameOf, cap }: Pick<BatchSpec, "nameOf" | "cap">,
): Promise<BatchProgress> {
  const { console } = session;
  if (console.events) return eventLines(console);
  const bar = await createBar(session, cap);
  const noteOf = rowNotes();
  let isStopping = false;
  return {
    ...bar,
    show(event) {
      tellAnyway(event, console);
      if (event.type !== "submit_interrupted" || isStopping) return;
      isStopping = true;
      // The other rows that are under way say so in the same moment.
      queueMicrotask(() => void console.note(stoppingText(event.waitMs, console.awaited, 2)));
    },
    onOutage(outage) {
      void console.note(
        outage.down ? `Submitting is paused: ${outage.why.replace(/\.$/, "")}.` : "The service is back.",
      );
    },
    onPause(ms) {
      if (ms < WORTH_A_WORD_MS) return;
      void console.note(`The service is busy (HTTP 429): all rows wait ${formatDuration(ms)}.`);
    },
    end(end, counts) {
      const note = noteOf(end, nameOf(end.row));
      if (note !== null) void console.error(note);
      bar.end(end, counts);
    },
  };
}

/** The bar, from the first row that is begun. */
async function createBar(
  session: Session,
  cap: number | null,
): Promise<Pick<BatchProgress, "plan" | "onStart" | "end" | "stop">> {
  const { console, context } = session;
  const paint = barPaint(console.style("stderr"));
  const line = await createStatusLine(session, { paint, isBesideResults: true });
  const view = { rows: 0, ended: 0, endedNow: 0, left: 0, running: 0, failed: 0, credits: 0, budget: cap };
  let chargedBefore = 0;
  let startMs: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  const draw = () =>
    line.set((columns) => {
      const elapsedMs = startMs === null ? 0 : context.clock.monotonicMs() - startMs;
      return batchLines({ ...view, elapsedMs }, columns, hasSymbols(context.env));
    });
  return {
    plan({ rows, toSubmit, charged, chargedForOthers }) {
      view.rows = rows.length;
      view.left = rows.filter(({ state }) => state !== "saved").length;
      view.budget ??= toSubmit.credits || null;
      // A cap counts what earlier runs have charged too.
      if (cap !== null) chargedBefore = charged.credits + chargedForOthers.credits;
      view.credits = chargedBefore;
    },
    onStart() {
      startMs ??= context.clock.monotonicMs();
      timer ??= setInterval(draw, REDRAW_MS).unref();
      view.running += 1;
      draw();
    },
    end(end, counts) {
      showEnd(view, end);
      view.credits = chargedBefore + counts.cost.credits;
      draw();
    },
    stop() {
      clearInterval(timer);
      line.stop();
    },
  };
}

/** Takes a row that has ended into what is shown. */
function showEnd(view: Omit<BatchView, "elapsedMs">, { isSkipped, state }: RowResult): void {
  view.running -= 1;
  view.ended += 1;
  if (isSkipped) return;
  view.endedNow += 1;
  view.left -= 1;
  if (state === "failed" || state === "unknown") view.failed += 1;
}

/** What a program is told of a batch. */
function eventLines(console: Console): BatchProgress {
  return {
    ...eventProgress(console),
    onOutage: (outage) =>
      void console.event(outage.down ? { type: "paused", message: outage.why } : { type: "unpaused" }),
    onPause: (ms) => void console.event({ type: "paused", message: `HTTP 429, for ${formatDuration(ms)}` }),
    plan: () => {},
    onStart: () => {},
    end: (end) => void console.event(rowLine(end)),
  };
}

function rowLine({ row, report }: RowResult): EventLine {
  const status = report === null ? "failed" : reportStatus(report);
  return { type: "row", row: row.row, line: row.line, taskId: report?.taskId ?? null, status };
}

const DONE_ROWS = new RegExp(`^${BAR.done}+`);
const LEFT_ROWS = new RegExp(`${BAR.left}+`);

function barPaint(style: TextStyle): Paint {
  return (line, at) => {
    if (at > 0) return style("detail", line);
    return line
      .replace(LEFT_ROWS, (bar) => style("detail", bar))
      .replace(DONE_ROWS, (bar) => style("saved", bar))
      .replace(/\d+ failed/, (text) => style("error", text));
  };
}
