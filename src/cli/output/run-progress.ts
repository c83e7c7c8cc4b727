import { shareText, stepText } from "../../client/run-text.ts";
import type { RunEvent } from "../../core/use-cases/run-events.ts";
import type { Console } from "../text/console.ts";

/** Times are in milliseconds of the monotonic clock. */
export interface RunProgress {
  task: TaskProgress;
  names: readonly string[];
  /** Tasks of each stage as indices in `names`, in order of arrival. A task is removed when its result is printed. */
  stages: Readonly<Record<Stage, Set<number>>>;
  batch: BatchProgress | null;
}

export type Stage = "finished" | "downloading" | "running";

export interface TaskProgress {
  /** Current step, such as `Generating`; empty before the first step. */
  step: string;
  /** Completed share of the step, formatted by `shareText`. */
  share: string;
  sinceMs: number;
  taskId: string | null;
  usualMs: number | null;
}

export interface BatchProgress {
  rows: number;
  /** Rows that have ended, including the rows that earlier runs saved. */
  endedRows: number;
  endedInThisRun: number;
  remainingRows: number;
  running: number;
  failed: number;
  /** Credits that earlier runs charged, or might have charged. */
  creditsBefore: number;
  /** Like `creditsBefore`, but including this run. */
  credits: number;
  /** null if there is no cap and no known cost. */
  budget: number | null;
  startMs: number | null;
}

export interface RunNotes {
  /** @param run progress before the event */
  show(event: RunEvent, run: RunProgress): void;
  /** Prints messages that depend on elapsed time. Called once a second on a terminal. */
  tick?(run: RunProgress, nowMs: number): void;
}

export interface RunView {
  /** Empty before the first step. */
  lines(run: RunProgress, nowMs: number, columns: number): readonly string[];
  notes(console: Console, isLive: boolean): RunNotes;
}

export function newRun(): RunProgress {
  return {
    task: { step: "", share: "", sinceMs: 0, taskId: null, usualMs: null },
    names: [],
    stages: { finished: new Set(), downloading: new Set(), running: new Set() },
    batch: null,
  };
}

/** @returns whether the progress has changed */
export function fold(run: RunProgress, event: RunEvent, nowMs: number): boolean {
  const { task, names, stages, batch } = run;
  switch (event.type) {
    case "begun":
      run.names = event.names;
      for (const at of event.names.keys()) stages.running.add(at);
      return true;
    case "ended":
      return move(stages, event.at, "finished");
    case "printed":
      return move(stages, event.at, null);
    case "planned":
      run.batch = plannedBatch(event);
      return true;
    case "row_begun":
    case "row_ended":
      if (batch !== null) run.batch = batchAfter(batch, event, nowMs);
      return true;
    default:
      run.task = taskAfter(task, event, nowMs);
      if (event.type === "downloading") move(stages, names.indexOf(event.taskId), "downloading");
      return run.task !== task;
  }
}

function plannedBatch({ plan, cap }: Extract<RunEvent, { type: "planned" }>): BatchProgress {
  const { rows, toSubmit, charged, chargedForOthers } = plan;
  // A cap includes earlier charges, so they are counted only if there is a cap.
  const credits = cap === null ? 0 : charged.credits + chargedForOthers.credits;
  return {
    rows: rows.length,
    remainingRows: rows.filter(({ state, resubmit }) => state !== "saved" || resubmit !== null).length,
    creditsBefore: credits,
    credits,
    budget: cap ?? (toSubmit.credits || null),
    ...{ endedRows: 0, endedInThisRun: 0, running: 0, failed: 0, startMs: null },
  };
}

function batchAfter(
  batch: BatchProgress,
  event: Extract<RunEvent, { type: "row_begun" | "row_ended" }>,
  nowMs: number,
): BatchProgress {
  const { running, endedRows, endedInThisRun, remainingRows, failed, creditsBefore } = batch;
  if (event.type === "row_begun") return { ...batch, running: running + 1, startMs: batch.startMs ?? nowMs };
  const { isSkipped, state } = event.result;
  const increment = isSkipped ? 0 : 1;
  return {
    ...batch,
    running: running - 1,
    endedRows: endedRows + 1,
    endedInThisRun: endedInThisRun + increment,
    remainingRows: remainingRows - increment,
    failed: failed + (increment && (state === "failed" || state === "unknown") ? 1 : 0),
    credits: creditsBefore + event.counts.cost.credits,
  };
}

function move(stages: RunProgress["stages"], at: number, stage: Stage | null): boolean {
  const wasPresent = Object.values(stages).some((positions) => positions.delete(at));
  if (wasPresent && stage !== null) stages[stage].add(at);
  return wasPresent;
}

function taskAfter(task: TaskProgress, event: RunEvent, nowMs: number): TaskProgress {
  const step = stepText(event);
  if (step === "") return task;
  const isSameStep = step === task.step && (event.type === "waiting" || event.type === "progress");
  const base = isSameStep ? task : { ...task, share: "", sinceMs: nowMs };
  switch (event.type) {
    case "progress":
      return { ...base, step, share: shareText(event) };
    case "accepted":
      return { ...base, step, taskId: event.taskId };
    case "waiting":
      return { ...base, step, taskId: event.taskId, usualMs: event.usualMs };
    default:
      return { ...base, step };
  }
}
