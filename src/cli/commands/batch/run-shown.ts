import { planFacts, rowStateText } from "../../../client/batch-json.ts";
import type { CheckedBatch } from "../../../client/batch-operations.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import type { SUBMIT_MANY } from "../../../client/options/request-table.ts";
import type { BatchEvents, BatchResult, BatchSpec, Confirmation } from "../../../core/batch/batch-spec.ts";
import type { BatchPlan } from "../../../core/batch/plan.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { formatDuration } from "../../../lib/duration.ts";
import { canAsk, confirm } from "../../input/input-stream.ts";
import type { BatchProgress, RunNotes } from "../../output/run-progress.ts";
import { createProgress, type Progress, runWithProgress } from "../../output/task-progress.ts";
import type { Session } from "../../session/session.ts";
import { hasSymbols, type Paint, type TextStyle } from "../../text/colors.ts";
import type { Console } from "../../text/console.ts";
import { noteText, stoppingText } from "../../text/phrases.ts";
import { confirmationQuestion, estimateText, MAX_SHOWN, planText, type ShownResult } from "./summary.ts";

interface Listener {
  onPlan?: (plan: BatchPlan) => void;
  onEnd: (end: RowResult) => Promise<void>;
  /** Prints the partial result when a second signal ends the program. */
  onCutOff?: (result: BatchResult) => Promise<void>;
}

/** @throws the errors of `batch`. Nothing was sent in this case. */
export async function runShown(
  { spec }: CheckedBatch,
  flags: Pick<FlagsOf<typeof SUBMIT_MANY>, "sheet" | "requestTimeoutMs" | "yes">,
  session: Session,
  { onPlan, onEnd, onCutOff }: Listener,
): Promise<ShownResult> {
  const { console, context } = session;
  const progress = await createBatchProgress(session, spec);
  const previousHandler = context.onSecondSignal;
  const results: RowResult[] = [];
  const confirmOnTerminal = async (confirmation: Confirmation) => {
    if (confirmation.about === "folder") await console.note(confirmation.message);
    return confirm(confirmationQuestion(confirmation), session);
  };
  const events: BatchEvents = {
    confirm: canAsk(session) ? confirmOnTerminal : undefined,
    onWarning: (message) => console.note(`warning: ${message}`),
    async onPlan(plan) {
      onPlan?.(plan);
      progress.show({ type: "planned", plan, cap: spec.cap });
      const facts = planFacts(plan, spec.matrix);
      await console.note(`${planText(facts)}. ${estimateText(facts)}`.trimEnd());
    },
    onOutage: (outage) => progress.show({ type: "outage", outage }),
    onPause: (delayMs, why) => progress.show({ type: "busy", delayMs, why }),
    onRun(cutOff) {
      if (onCutOff) context.onSecondSignal = () => console.finish(() => onCutOff(cutOff()));
    },
    onStart: () => progress.show({ type: "row_begun" }),
    async onEnd(end, counts) {
      progress.show({ type: "row_ended", result: end, counts });
      if (flags.sheet) results.push(end);
      await onEnd(end);
    },
  };
  const result = await runWithProgress(session, flags, progress, (operations, caller) =>
    operations.batch(spec, caller, events),
  ).finally(() => {
    context.onSecondSignal = previousHandler;
  });
  if (!flags.sheet) return result;
  const { makeSheet } = await import("./sheet.ts");
  return { ...result, sheet: await makeSheet(results, spec, session) };
}

/** On a terminal, images of earlier runs are omitted. */
export async function showPaths(end: RowResult, { console, context }: Session): Promise<void> {
  if (end.error || (end.isSkipped && context.stdout.isTTY)) return;
  for (const { path } of end.report?.files ?? []) if (path !== null) await console.resultLine({ path });
}

export async function createBatchProgress(
  session: Session,
  { nameOf }: Pick<BatchSpec, "nameOf">,
): Promise<Progress> {
  const { console, context } = session;
  return createProgress(
    session,
    {
      lines({ batch }, nowMs, columns) {
        if (batch === null || batch.startMs === null) return [];
        return batchLines({ ...batch, elapsedMs: nowMs - batch.startMs }, columns, hasSymbols(context.env));
      },
      notes: () => batchNotes(console, nameOf),
    },
    { paint: barPaint(console.style("stderr")), isBesideResults: true },
  );
}

export type BatchView = Omit<BatchProgress, "creditsBefore" | "startMs"> & { elapsedMs: number };

const BAR = { filled: "━", empty: "─" };
const PLAIN_BAR = { filled: "#", empty: "-" };
const MIN_BAR_COLUMNS = 6;
const MAX_BAR_COLUMNS = 30;
const RATE_AFTER_MS = 2000;

/** Formats two status lines, and omits the last parts of a line that is too long. */
export function batchLines(view: BatchView, columns: number, hasSymbols: boolean): string[] {
  const { rows, endedRows, endedInThisRun, remainingRows, running, failed, credits, budget, elapsedMs } =
    view;
  const rowParts = [
    `${endedRows} of ${rows} rows`,
    failed > 0 && `${failed} failed`,
    running > 0 && `${running} running`,
  ];
  const text = joinFitting(rowParts, columns - MIN_BAR_COLUMNS - 1);
  const width = Math.min(MAX_BAR_COLUMNS, columns - text.length - 1);
  const { filled, empty: rest } = hasSymbols ? BAR : PLAIN_BAR;
  const filledColumns = rows === 0 ? width : Math.floor((endedRows / rows) * width);
  const hasRate = endedInThisRun > 0 && elapsedMs >= RATE_AFTER_MS;
  const costParts = [
    budget !== null && `${credits} of ${budget} credits`,
    hasRate &&
      remainingRows > 0 &&
      `about ${formatDuration(roundDuration((elapsedMs / endedInThisRun) * remainingRows))} left`,
    elapsedMs >= 1000 && formatDuration(Math.floor(elapsedMs / 1000) * 1000),
    hasRate && `${Math.max(1, Math.round((endedInThisRun / elapsedMs) * 60_000))} rows/min`,
  ];
  return [
    width < MIN_BAR_COLUMNS
      ? text
      : `${filled.repeat(filledColumns)}${rest.repeat(width - filledColumns)} ${text}`,
    joinFitting(costParts, columns),
  ];
}

function joinFitting(parts: readonly (string | false)[], columns: number): string {
  const visible = parts.filter(Boolean);
  while (visible.join(" · ").length > columns) visible.pop();
  return visible.join(" · ");
}

function roundDuration(ms: number): number {
  const stepMs = ms < 60_000 ? 5_000 : ms < 600_000 ? 10_000 : 60_000;
  return Math.max(5_000, Math.round(ms / stepMs) * stepMs);
}

const FILLED_BAR = new RegExp(`^${BAR.filled}+`);
const EMPTY_BAR = new RegExp(`${BAR.empty}+`);

function barPaint(style: TextStyle): Paint {
  return (line, at) => {
    if (at > 0) return style("detail", line);
    return line
      .replace(EMPTY_BAR, (bar) => style("detail", bar))
      .replace(FILLED_BAR, (bar) => style("saved", bar))
      .replace(/\d+ failed/, (text) => style("error", text));
  };
}

const MIN_PAUSE_MS = 5_000;

function batchNotes(console: Console, rowName: BatchSpec["nameOf"]): RunNotes {
  const failures = new Map<string, number>();
  let isStopping = false;
  return {
    show(event) {
      switch (event.type) {
        case "submit_interrupted":
          if (isStopping) return;
          isStopping = true;
          // The message needs the task ids of all other requests in flight, so it is delayed.
          queueMicrotask(() => void console.note(stoppingText(event.waitMs, console.pendingReplies, 2)));
          return;
        case "outage":
          void console.note(noteText(event));
          return;
        case "busy":
          if (event.delayMs >= MIN_PAUSE_MS) void console.note(noteText(event));
          return;
        case "row_ended": {
          const note = failureNote(event.result, rowName(event.result.row), failures);
          if (note !== null) void console.error(note);
        }
      }
    },
  };
}

/**
 * Returns a message about a row without a saved file, or null if the summary will report the failure.
 * @param failures number of earlier failures of each kind, to which this failure is added
 */
function failureNote(end: RowResult, name: string, failures: Map<string, number>): string | null {
  const { state, report, error } = end;
  // The summary explains why rows were not submitted.
  if (error === null || (state === "new" && report === null)) return null;
  const task = state === "unfinished" && report?.taskId ? ` (task ${report.taskId})` : "";
  const note = `${name}: ${rowStateText(end)}${task}`;
  if (error.type === "interrupted") return note;
  const kind = `${error.type} ${error.key ?? ""}`;
  const count = (failures.get(kind) ?? 0) + 1;
  failures.set(kind, count);
  if (count > MAX_SHOWN) return null;
  const last = count === MAX_SHOWN ? " Further failures of this kind are only counted." : "";
  return `${note}: ${error.message}${last}`;
}
