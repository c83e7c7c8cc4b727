import { stepText } from "../../client/run-text.ts";
import { formatDuration } from "../../lib/duration.ts";
import { shortTaskIds } from "../../lib/short-task-id.ts";
import { resumeCommand } from "../../lib/wording.ts";
import type { FreeProvider } from "../../task/intent.ts";
import type { CheckedRequest } from "../../task/request.ts";
import type { Console } from "../text/console.ts";
import { creditsText, noteText } from "../text/phrases.ts";
import type { RunNotes, RunProgress, RunView, Stage, TaskProgress } from "./run-progress.ts";

/** The spinner's text on the request of a task. */
type RequestFacts = Pick<CheckedRequest, "request" | "credits"> & { free?: FreeProvider | null };

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

const SLOW_MS = 60_000;
const SLOW_TIMES = 2;

const ALWAYS = ["continuing", "submit_retry", "submit_interrupted", "download_retry"] as const;
/** On a terminal only what the spinner cannot tell. */
const ON_TERMINAL = new Set<string>([...ALWAYS, "poll_failed"]);
const ELSEWHERE = new Set<string>([...ALWAYS, "claimed_elsewhere", "uploading", "accepted", "progress"]);

/** Text about one task, which is short. */
export function taskNotes(console: Console, isLive: boolean): RunNotes {
  /** On a terminal the id is said once, when it may soon be needed: the task is slow, or a poll has failed. */
  let isIdShown = false;
  return {
    show(event, { task }) {
      if (!(isLive ? ON_TERMINAL : ELSEWHERE).has(event.type)) return;
      // For whom it waits, each time that it changes.
      if (event.type === "progress" && (event.waiting === null || stepText(event) === task.step)) return;
      if (event.type === "poll_failed") {
        if (isIdShown) return;
        isIdShown = true;
      }
      void console.note(noteText(event));
    },
    tick({ task: { taskId, step, sinceMs, usualMs } }, nowMs) {
      if (isIdShown || taskId === null || step !== "Generating") return;
      if (nowMs - sinceMs < Math.max(SLOW_MS, SLOW_TIMES * (usualMs ?? 0))) return;
      isIdShown = true;
      void console.note(
        `This is taking a while. Ctrl-C loses nothing; resume with: ${resumeCommand(taskId)}`,
      );
    },
  };
}

/** Text about one of several tasks before it ends. */
function notesOfSeveral(console: Console): RunNotes {
  return {
    show(event) {
      // Only the next task in the queue is reported: it names the one that it waits for.
      const isNext = event.type === "progress" && event.waiting?.ahead === 1;
      if (isNext || event.type === "download_retry") void console.note(noteText(event));
    },
  };
}

/** The stages in which a task is named, in the order of their lines. */
const STAGES = ["finished", "downloading", "running"] as const satisfies Stage[];

/** States of several tasks; one whose lines are printed is no longer named. */
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
  let [text, fitting] = [`${stage}:`, `${stage}: ${more}`];
  for (const at of stages[stage]) {
    text += `${text.endsWith(":") ? "" : ","} ${names[at]}`;
    if (text.length > columns) break;
    more -= 1;
    const line = more === 0 ? text : `${text}, ${more} more`;
    if (line.length <= columns) fitting = line;
  }
  return [fitting];
}
