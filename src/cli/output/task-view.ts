import { stepText } from "../../client/run-text.ts";
import { formatDuration } from "../../lib/duration.ts";
import { shortTaskIds } from "../../lib/short-task-id.ts";
import { resumeCommand } from "../../lib/wording.ts";
import type { FreeProvider } from "../../task/intent.ts";
import type { CheckedRequest } from "../../task/request.ts";
import type { Console } from "../text/console.ts";
import { creditsText, noteText } from "../text/phrases.ts";
import type { RunNotes, RunProgress, RunView, Stage, TaskProgress } from "./run-progress.ts";

type RequestDetails = Pick<CheckedRequest, "request" | "credits"> & { free?: FreeProvider | null };

export function taskView(details: RequestDetails | null): RunView {
  return {
    lines: ({ task }, nowMs, columns) =>
      task.step === "" ? [] : [spinnerLine(task, nowMs - task.sinceMs, details, columns)],
    notes: taskNotes,
  };
}

/** Returns the status line. Omits the cost, then the model, then the time if there are too few columns. */
function spinnerLine(
  task: TaskProgress,
  ageMs: number,
  details: RequestDetails | null,
  columns: number,
): string {
  const step = [task.step, task.share].filter(Boolean).join(", ");
  const time = timeText(ageMs, task.step === "Generating" ? task.usualMs : null);
  const model =
    details === null ? "" : [details.request.model, details.request.quality].filter(Boolean).join(" ");
  const cost = details === null ? "" : creditsText(details.credits, details.free);
  const choices = [[step, model, time, cost], [step, model, time], [step, time], [step]];
  const lines = choices.map((choice) => choice.filter((part) => part !== "").join(" · "));
  return lines.find((line) => line.length <= columns) ?? step;
}

function timeText(ageMs: number, usualMs: number | null): string {
  const age = ageMs < 1000 ? "" : formatSeconds(ageMs);
  if (usualMs === null || usualMs < 1000) return age;
  if (ageMs > usualMs) return `${age}, usually ${formatSeconds(usualMs)}`;
  return age === "" ? `about ${formatSeconds(usualMs)}` : `${age} of about ${formatSeconds(usualMs)}`;
}

function formatSeconds(ms: number): string {
  return formatDuration(Math.round(ms / 1000) * 1000);
}

const SLOW_MS = 60_000;
const SLOW_FACTOR = 2;

const COMMON_EVENTS = ["continuing", "submit_retry", "submit_interrupted", "download_retry"] as const;
/** Events that are printed as messages on a terminal. The status line shows all other events. */
const TERMINAL_EVENTS = new Set<string>([...COMMON_EVENTS, "poll_failed"]);
const PLAIN_EVENTS = new Set<string>([
  ...COMMON_EVENTS,
  "claimed_elsewhere",
  "uploading",
  "accepted",
  "progress",
]);

export function taskNotes(console: Console, isLive: boolean): RunNotes {
  /** Shown once, when the task is slow or a poll has failed. */
  let isIdShown = false;
  return {
    show(event, { task }) {
      if (!(isLive ? TERMINAL_EVENTS : PLAIN_EVENTS).has(event.type)) return;
      // Progress is shown only when the reason for waiting changes.
      if (event.type === "progress" && (event.waiting === null || stepText(event) === task.step)) return;
      if (event.type === "poll_failed") {
        if (isIdShown) return;
        isIdShown = true;
      }
      void console.note(noteText(event));
    },
    tick({ task: { taskId, step, sinceMs, usualMs } }, nowMs) {
      if (isIdShown || taskId === null || step !== "Generating") return;
      if (nowMs - sinceMs < Math.max(SLOW_MS, SLOW_FACTOR * (usualMs ?? 0))) return;
      isIdShown = true;
      void console.note(
        `The task is slow. To stop waiting, press Ctrl-C. To resume later: ${resumeCommand(taskId)}`,
      );
    },
  };
}

function multiTaskNotes(console: Console): RunNotes {
  return {
    show(event) {
      // Of all waiting tasks, only the next one is reported, because its message already mentions the running task.
      const isNext = event.type === "progress" && event.waiting?.ahead === 1;
      if (isNext || event.type === "download_retry") void console.note(noteText(event));
    },
  };
}

const STAGES = ["finished", "downloading", "running"] as const satisfies Stage[];

/** View of several tasks, grouped by stage. Omits tasks whose results are already printed. */
export function taskRows(ids: readonly string[]): RunView {
  const names = shortTaskIds(ids);
  return {
    lines({ stages }, _nowMs, columns) {
      const finished = names.length - stages.running.size - stages.downloading.size;
      const lists = STAGES.flatMap((stage) => stageLine(stage, stages, names, columns));
      return [`${finished} of ${names.length} tasks finished`, ...lists];
    },
    notes: multiTaskNotes,
  };
}

function stageLine(
  stage: Stage,
  stages: RunProgress["stages"],
  names: readonly string[],
  columns: number,
): string[] {
  let remaining = stages[stage].size;
  if (remaining === 0) return [];
  let [text, fitting] = [`${stage}:`, `${stage}: ${remaining}`];
  for (const at of stages[stage]) {
    text += `${text.endsWith(":") ? "" : ","} ${names[at]}`;
    if (text.length > columns) break;
    remaining -= 1;
    const line = remaining === 0 ? text : `${text}, ${remaining} more`;
    if (line.length <= columns) fitting = line;
  }
  return [fitting];
}
