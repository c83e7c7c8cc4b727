import { formatDuration } from "../../lib/duration.ts";
import type { FreeAt } from "../../task/intent.ts";
import type { CheckedRequest } from "../../task/request.ts";
import { creditsText } from "../text/phrases.ts";
import type { TaskProgress } from "./run-progress.ts";
import { taskNotes } from "./task-notes.ts";
import type { RunView } from "./task-progress.ts";

/** The spinner's text on the request of a task. */
type RequestFacts = Pick<CheckedRequest, "request" | "credits"> & { free?: FreeAt | null };

/** One task: a spinner, or a few plain lines. @param facts null if not known */
export function taskView(facts: RequestFacts | null): RunView {
  return {
    lines: ({ task }, nowMs, columns) =>
      task.step === "" ? [] : [spinnerLine(task, nowMs - task.sinceMs, facts, columns)],
    notes: taskNotes,
  };
}

/** Whole, or without the cost, or without the model too, as the columns allow. */
function spinnerLine(task: TaskProgress, ageMs: number, facts: RequestFacts | null, columns: number): string {
  const step = [task.step, task.share].filter(Boolean).join(", ");
  const time = timeText(ageMs, task.step === "Generating" ? task.usualMs : null);
  const kind = facts === null ? "" : [facts.request.model, facts.request.quality].filter(Boolean).join(" ");
  const cost = facts === null ? "" : creditsText(facts.credits, facts.free);
  const choices = [[step, kind, time, cost], [step, kind, time], [step, time], [step]];
  const lines = choices.map((choice) => choice.filter((part) => part !== "").join(" · "));
  return lines.find((line) => line.length <= columns) ?? step;
}

function timeText(ageMs: number, usualMs: number | null): string {
  const age = ageMs < 1000 ? "" : wholeSeconds(ageMs);
  if (usualMs === null || usualMs < 1000) return age;
  if (ageMs > usualMs) return `${age}, usually ${wholeSeconds(usualMs)}`;
  return age === "" ? `about ${wholeSeconds(usualMs)}` : `${age} of about ${wholeSeconds(usualMs)}`;
}

function wholeSeconds(ms: number): string {
  return formatDuration(Math.round(ms / 1000) * 1000);
}
