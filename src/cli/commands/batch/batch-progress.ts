import type { CheckedRow } from "../../../core/batch/batch-row.ts";
import type { BatchCounts } from "../../../core/batch/counts.ts";
import type { BatchPlan } from "../../../core/batch/plan.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import type { TaskProgressEvent } from "../../../core/task/progress-events.ts";
import { formatDuration } from "../../../lib/duration.ts";
import { eventProgress, rowLine } from "../../output/event-lines.ts";
import { createStatusLine } from "../../output/live-line.ts";
import type { Session } from "../../session/session.ts";
import type { Paint, TextStyle } from "../../text/colors.ts";
import { hasSymbols } from "../../text/colors.ts";
import type { Console } from "../../text/console.ts";
import { BAR, type BatchView, batchLines } from "./bar.ts";
import { RowNotes } from "./row-notes.ts";

/** Shows how a batch is getting on: a bar on a terminal, and a line for each row that fails. */
export interface BatchProgress {
  show(event: TaskProgressEvent): void;
  showOutage(outage: { down: true; why: string } | { down: false }): void;
  /** All rows are paused for this long. */
  showPause(ms: number): void;
  /** What is going to be done. @param cap `--max-credits`; null without one */
  plan(plan: BatchPlan, cap: number | null): void;
  begin(): void;
  end(end: RowResult, counts: BatchCounts): void;
  stop(): void;
}

const WORTH_A_WORD_MS = 5_000;
const REDRAW_MS = 1_000;

/** @param nameOf what each row is called */
export async function createBatchProgress(
  session: Session,
  nameOf: (row: CheckedRow) => string,
): Promise<BatchProgress> {
  const { console, context } = session;
  if (console.events) return eventLines(console);
  const paint = barPaint(await console.style("stderr"));
  const line = await createStatusLine(console, context, { paint, isBesideResults: true });
  const view = new LiveView(() => context.clock.monotonicMs());
  const notes = new RowNotes();
  const draw = () => line.set((columns) => batchLines(view.now(), columns, hasSymbols(context.env)));
  let timer: NodeJS.Timeout | undefined;
  let isStopping = false;
  return {
    show(event) {
      // Even under --quiet: the screen may be the only place that has the task's id.
      if (event.type === "ledger_warning") void console.error(`warning: ${event.message}`);
      if (event.type !== "submit_interrupted" || isStopping) return;
      isStopping = true;
      const patience = formatDuration(event.waitMs);
      void console.note(`Stopping. Waiting up to ${patience} for the task ids of requests under way…`);
    },
    showOutage(outage) {
      void console.note(outage.down ? `Submitting is paused: ${outage.why}.` : "The service is back.");
    },
    showPause(ms) {
      if (ms < WORTH_A_WORD_MS) return;
      void console.note(`The service is busy (HTTP 429): all rows wait ${formatDuration(ms)}.`);
    },
    plan: (plan, cap) => view.plan(plan, cap),
    begin() {
      view.begin();
      draw();
      timer ??= setInterval(draw, REDRAW_MS).unref();
    },
    end(end, counts) {
      view.end(end, counts);
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
    showOutage: (outage) =>
      void console.event(outage.down ? { type: "paused", message: outage.why } : { type: "unpaused" }),
    showPause: (ms) => void console.event({ type: "paused", message: `HTTP 429, for ${formatDuration(ms)}` }),
    plan: () => {},
    begin: () => {},
    end: (end) => void console.event(rowLine(end)),
  };
}

/** Counts what the bar shows. */
class LiveView {
  readonly #clock: () => number;
  #startMs: number | null = null;
  #begun = 0;
  #creditsBefore = 0;
  readonly #view: BatchView = {
    rows: 0,
    ended: 0,
    endedNow: 0,
    left: 0,
    running: 0,
    failed: 0,
    credits: 0,
    budget: null,
    elapsedMs: 0,
  };

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  plan({ rows, toSubmit, charged, chargedForOthers }: BatchPlan, cap: number | null): void {
    this.#view.rows = rows.length;
    this.#view.left = rows.filter(({ state }) => state !== "saved").length;
    // A cap counts what earlier runs have charged too.
    if (cap !== null) this.#creditsBefore = charged.credits + chargedForOthers.credits;
    this.#view.credits = this.#creditsBefore;
    this.#view.budget = cap ?? (toSubmit.credits > 0 ? toSubmit.credits : null);
  }

  begin(): void {
    this.#startMs ??= this.#clock();
    this.#begun += 1;
    this.#view.running = this.#begun - this.#view.ended;
  }

  end({ isSkipped }: RowResult, { failed, unknown, cost }: BatchCounts): void {
    const view = this.#view;
    view.ended += 1;
    view.running = Math.max(0, this.#begun - view.ended);
    if (!isSkipped) {
      view.endedNow += 1;
      view.left = Math.max(0, view.left - 1);
    }
    view.failed = failed + unknown;
    view.credits = this.#creditsBefore + cost.credits;
  }

  now(): BatchView {
    return { ...this.#view, elapsedMs: this.#startMs === null ? 0 : this.#clock() - this.#startMs };
  }
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
