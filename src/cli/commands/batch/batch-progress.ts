import type { BatchEvents, BatchSpec } from "../../../core/batch/batch-spec.ts";
import { BatchCounts } from "../../../core/batch/counts.ts";
import type { BatchPlan } from "../../../core/batch/plan.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { formatDuration } from "../../../lib/duration.ts";
import { eventProgress, rowLine } from "../../output/event-lines.ts";
import { createStatusLine } from "../../output/status-line.ts";
import { type Progress, tellLedgerWarning } from "../../output/task-progress.ts";
import type { Session } from "../../session/session.ts";
import type { Paint, TextStyle } from "../../text/colors.ts";
import { hasSymbols } from "../../text/colors.ts";
import type { Console } from "../../text/console.ts";
import { BAR, type BatchView, batchLines } from "./bar.ts";
import { RowNotes } from "./row-notes.ts";

/** Shows how a batch is getting on: a bar on a terminal, and a line for each row that fails. */
export interface BatchProgress extends Progress, Required<Pick<BatchEvents, "onOutage" | "onPause">> {
  /** What is going to be done. */
  plan(plan: BatchPlan): void;
  begin(): void;
  end(end: RowResult, counts: BatchCounts): void;
}

const WORTH_A_WORD_MS = 5_000;
const REDRAW_MS = 1_000;

export async function createBatchProgress(
  session: Session,
  { nameOf, cap }: Pick<BatchSpec, "nameOf" | "cap">,
): Promise<BatchProgress> {
  const { console, context } = session;
  if (console.events) return eventLines(console);
  const paint = barPaint(console.style("stderr"));
  const line = await createStatusLine(session, { paint, isBesideResults: true });
  const state: BatchState = { plan: null, unsaved: 0, cap, counts: new BatchCounts(nameOf), begun: 0 };
  const notes = new RowNotes();
  let startMs: number | null = null;
  const draw = () =>
    line.set((columns) => {
      const elapsedMs = startMs === null ? 0 : context.clock.monotonicMs() - startMs;
      return batchLines(viewOf(state, elapsedMs), columns, hasSymbols(context.env));
    });
  let timer: NodeJS.Timeout | undefined;
  let isStopping = false;
  return {
    show(event) {
      tellLedgerWarning(event, console);
      if (event.type !== "submit_interrupted" || isStopping) return;
      isStopping = true;
      const patience = formatDuration(event.waitMs);
      void console.note(`Stopping. Waiting up to ${patience} for the task ids of requests under way…`);
    },
    onOutage(outage) {
      void console.note(outage.down ? `Submitting is paused: ${outage.why}.` : "The service is back.");
    },
    onPause(ms) {
      if (ms < WORTH_A_WORD_MS) return;
      void console.note(`The service is busy (HTTP 429): all rows wait ${formatDuration(ms)}.`);
    },
    plan(plan) {
      state.plan = plan;
      state.unsaved = plan.rows.filter((row) => row.state !== "saved").length;
    },
    begin() {
      startMs ??= context.clock.monotonicMs();
      timer ??= setInterval(draw, REDRAW_MS).unref();
      state.begun += 1;
      draw();
    },
    end(end, counts) {
      state.counts = counts;
      const said = notes.lineOf(end, nameOf(end.row));
      if (said !== null) void console.error(said);
      draw();
    },
    stop() {
      clearInterval(timer);
      line.stop();
    },
  };
}

/** What a program is told of a batch. */
function eventLines(console: Console): BatchProgress {
  return {
    ...eventProgress(console),
    onOutage: (outage) =>
      void console.event(outage.down ? { type: "paused", message: outage.why } : { type: "unpaused" }),
    onPause: (ms) => void console.event({ type: "paused", message: `HTTP 429, for ${formatDuration(ms)}` }),
    plan: () => {},
    begin: () => {},
    end: (end) => void console.event(rowLine(end)),
  };
}

/** What the bar is made of. */
interface BatchState extends Pick<BatchSpec, "cap"> {
  plan: BatchPlan | null;
  /** Rows of it that no earlier run has saved. */
  unsaved: number;
  counts: BatchCounts;
  /** Rows that were begun. */
  begun: number;
}

function viewOf({ plan, unsaved, cap, counts, begun }: BatchState, elapsedMs: number): BatchView {
  const { saved, skipped, failed, unknown, pending, notSent, cost } = counts;
  const endedNow = saved + failed + unknown + pending + notSent;
  const ended = endedNow + skipped;
  // A cap counts what earlier runs have charged too.
  const before = cap === null || plan === null ? 0 : plan.charged.credits + plan.chargedForOthers.credits;
  return {
    rows: plan?.rows.length ?? 0,
    ended,
    endedNow,
    left: Math.max(0, unsaved - endedNow),
    running: Math.max(0, begun - ended),
    failed: failed + unknown,
    credits: before + cost.credits,
    budget: cap ?? (plan?.toSubmit.credits || null),
    elapsedMs,
  };
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
