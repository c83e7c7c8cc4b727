import { isWaiting } from "../../../core/batch/counts.ts";
import type { RowState } from "../../../core/batch/plan.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { stateWord } from "../../../task/task.ts";

/** This many failures of one kind are printed as they happen; the rest is counted at the end. */
export const MOST_SHOWN = 5;

/**
 * What is said of rows that did not end in a saved file, as they end.
 * @returns the line for a row of this name; null if nothing is to be said of it, or not yet
 */
export function rowNotes(): (end: RowResult, name: string) => string | null {
  const shown = new Map<string, number>();
  return (end, name) => {
    const { state, report, error } = end;
    // That nothing more is sent is said once, at the end.
    if (error === null || (state === "new" && report === null)) return null;
    const task = state === "unfinished" && report?.taskId ? ` (task ${report.taskId})` : "";
    if (error.type === "interrupted") return `${name}: ${rowWord(end)}${task}`;
    const kind = `${error.type} ${error.key ?? ""}`;
    const count = (shown.get(kind) ?? 0) + 1;
    shown.set(kind, count);
    if (count > MOST_SHOWN) return null;
    const last = count === MOST_SHOWN ? " More of this kind are counted at the end." : "";
    return `${name}: ${rowWord(end)}${task}: ${error.message}${last}`;
  };
}

const WORDS: Readonly<Record<RowState, string>> = {
  new: "not sent",
  waiting: "unfinished",
  unfinished: "unfinished",
  saved: "saved",
  failed: "failed",
  unknown: "outcome unknown",
};

/** How a row ended, for a person. */
export function rowWord(end: RowResult): string {
  if (isWaiting(end)) return (end.report && stateWord(end.report.state)) ?? "waiting";
  return end.isSkipped ? "saved before" : WORDS[end.state];
}
