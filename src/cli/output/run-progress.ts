import { shareText, stepText } from "../../client/run-text.ts";
import type { RunEvent } from "../../core/use-cases/run-events.ts";
import type { Console } from "../text/console.ts";

/** Progress of a run, derived from its events. Times are by the monotonic clock. */
export interface RunProgress {
  /** The task of the last event. */
  task: TaskProgress;
  names: readonly string[];
  /** The places in `names` of the tasks in each stage, in the order in which they reached it; not of those printed. */
  stages: Readonly<Record<Stage, Set<number>>>;
  /** null before it is planned. */
  batch: BatchProgress | null;
}

export type Stage = "finished" | "downloading" | "running";

export interface TaskProgress {
  /** Current step, such as `Generating`; empty before the first one. */
  step: string;
  /** Share of the step that is done, as `shareText` formats it. */
  share: string;
  sinceMs: number;
  /** null before it is accepted. */
  taskId: string | null;
  usualMs: number | null;
}

/** The rows of a batch in total. */
export interface BatchProgress {
  rows: number;
  /** Rows that have ended, those that were saved before included. */
  endedRows: number;
  /** Rows among these that were not saved before this run. */
  endedInThisRun: number;
  /** Rows that this run has still to finish. */
  remainingRows: number;
  running: number;
  failed: number;
  /** Credits of the budget that earlier runs have charged. */
  creditsBefore: number;
  /** Credits of the budget that may have been charged. */
  credits: number;
  /** null if no cost is known. */
  budget: number | null;
  /** null before the first row is begun. */
  startMs: number | null;
}

/** The lines of a run that stay on standard error. */
export interface RunNotes {
  /** @param run the progress before the event */
  show(event: RunEvent, run: RunProgress): void;
  /** Prints notes that depend on time alone; called each second on a terminal. */
  tick?(run: RunProgress, nowMs: number): void;
}

/** View of one kind of run, for a person. */
export interface RunView {
  /** The lines at the end of a terminal, in so many columns; none before anything has begun. */
  lines(run: RunProgress, nowMs: number, columns: number): readonly string[];
  /** @param isLive whether those lines are seen */
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

/** Updates the progress by an event. @returns whether it has changed */
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
  // A cap counts what earlier runs have charged too.
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
  const now = isSkipped ? 0 : 1;
  return {
    ...batch,
    running: running - 1,
    endedRows: endedRows + 1,
    endedInThisRun: endedInThisRun + now,
    remainingRows: remainingRows - now,
    failed: failed + (now && (state === "failed" || state === "unknown") ? 1 : 0),
    credits: creditsBefore + event.counts.cost.credits,
  };
}

/** @param stage null: removed from all */
function move(stages: RunProgress["stages"], at: number, stage: Stage | null): boolean {
  const isLeft = Object.values(stages).some((positions) => positions.delete(at));
  if (isLeft && stage !== null) stages[stage].add(at);
  return isLeft;
}

function taskAfter(task: TaskProgress, event: RunEvent, nowMs: number): TaskProgress {
  const step = stepText(event);
  if (step === "") return task;
  const goesOn = step === task.step && (event.type === "waiting" || event.type === "progress");
  const before = goesOn ? task : { ...task, share: "", sinceMs: nowMs };
  switch (event.type) {
    case "progress":
      return { ...before, step, share: shareText(event) };
    case "accepted":
      return { ...before, step, taskId: event.taskId };
    case "waiting":
      return { ...before, step, taskId: event.taskId, usualMs: event.usualMs };
    default:
      return { ...before, step };
  }
}
