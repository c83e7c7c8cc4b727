import { shortTaskIds } from "../../lib/short-task-id.ts";
import type { RunProgress, Stage } from "./run-progress.ts";
import { notesOfSeveral } from "./task-notes.ts";
import type { RunView } from "./task-progress.ts";

/** The stages in which a task is named, in the order of their lines. */
const STAGES = ["finished", "downloading", "running"] as const satisfies Stage[];

/** Where each of several tasks stands; one whose lines are printed is not named any more. */
export function taskRows(ids: readonly string[]): RunView {
  const names = shortTaskIds(ids);
  return {
    lines({ stages }, _nowMs, columns) {
      const finished = names.length - stages.running.size - stages.downloading.size;
      const lists = STAGES.flatMap((stage) => stageLine(stage, stages, names, columns));
      return [`${finished} of ${names.length} tasks finished`, ...lists];
    },
    notes: notesOfSeveral,
  };
}

/** The first of these tasks by name, as many as fit, and how many more there are. */
function stageLine(
  stage: Stage,
  stages: RunProgress["stages"],
  names: readonly string[],
  columns: number,
): string[] {
  let more = stages[stage].size;
  if (more === 0) return [];
  let [shown, fitting] = [`${stage}:`, `${stage}: ${more}`];
  for (const at of stages[stage]) {
    shown += `${shown.endsWith(":") ? "" : ","} ${names[at]}`;
    if (shown.length > columns) break;
    more -= 1;
    const line = more === 0 ? shown : `${shown}, ${more} more`;
    if (line.length <= columns) fitting = line;
  }
  return [fitting];
}
