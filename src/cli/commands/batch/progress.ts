import type { BatchRow } from "../../../core/batch/batch-row.ts";
import type { BatchCounts } from "../../../core/batch/counts.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import type { TaskProgressEvent } from "../../../core/task/progress-events.ts";
import { formatDuration } from "../../../lib/duration.ts";
import type { Session } from "../../app/session.ts";
import { createStatusLine } from "../../output/status-line.ts";
import { creditsText } from "../../output/text.ts";
import { rowWord } from "./row-word.ts";

/** Shows how a batch is getting on: one live line on a terminal, and a line for each row that has ended. */
export interface BatchProgress {
  show(event: TaskProgressEvent): void;
  showOutage(outage: { down: true; why: string } | { down: false }): void;
  /** All rows are held back for so long. */
  showPause(ms: number): void;
  begin(): void;
  end(end: RowResult, tally: BatchCounts): void;
  stop(): void;
}

const WORTH_A_WORD_MS = 5_000;

/** @param rows how many there are @param nameOf what each is called */
export async function createBatchProgress(
  session: Session,
  rows: number,
  nameOf: (row: BatchRow) => string,
): Promise<BatchProgress> {
  const { console, context } = session;
  const line = await createStatusLine(console, context);
  const startMs = context.clock.monotonicMs();
  let begun = 0;
  let ended = 0;
  let text = "";
  let stopping = false;
  const retitle = (tally?: BatchCounts) => {
    if (tally) text = counts(tally);
    const elapsedMs = context.clock.monotonicMs() - startMs;
    const left = ended === 0 ? "" : ` · about ${formatDuration((elapsedMs / ended) * (rows - ended))} left`;
    line.set(`${ended} of ${rows} rows${text} · ${begun - ended} running${left}`);
  };
  return {
    show(event) {
      // Even under --quiet: the screen may be the only place that has the task's id.
      if (event.type === "ledger_trouble") void console.error(`warning: ${event.message}`);
      if (event.type !== "submit_interrupted" || stopping) return;
      stopping = true;
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
    begin() {
      begun += 1;
      retitle();
    },
    end(end, tally) {
      ended += 1;
      retitle(tally);
      // That nothing more is sent is said once, at the end.
      if (end.state === "new" && end.report === null) return;
      const said = rowLine(end, `[${ended}/${rows}] ${nameOf(end.row)}:`);
      if (end.error) void console.error(said);
      // A saved path on the same terminal says it already.
      else if (!context.stdout.isTTY || session.options.json) void console.note(said);
    },
    stop: () => line.stop(),
  };
}

function counts({ saved, skipped, failed, unknown, pending, cost }: BatchCounts): string {
  const parts = [
    saved + skipped > 0 && `${saved + skipped} saved`,
    failed > 0 && `${failed} failed`,
    unknown > 0 && `${unknown} unknown`,
    pending > 0 && `${pending} unfinished`,
    cost.credits > 0 && creditsText(cost.credits),
  ];
  return parts.map((part) => (part ? ` · ${part}` : "")).join("");
}

/** A row's end in one line. */
function rowLine(end: RowResult, start: string): string {
  const { state, report, error } = end;
  const task = state === "unfinished" && report?.taskId ? ` (task ${report.taskId})` : "";
  if (error) return `${start} ${rowWord(end)}${task}: ${error.message}`;
  const files = report?.files.map(({ path }) => path).join(" ") ?? "";
  return `${start} ${rowWord(end)} ${files}`.trimEnd();
}
