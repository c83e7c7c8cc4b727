import { stepText } from "../../client/run-text.ts";
import type { RunEvent } from "../../core/use-cases/run-events.ts";
import { resumeCommand } from "../../lib/wording.ts";
import type { Console } from "../text/console.ts";
import { noteText } from "../text/phrases.ts";
import type { RunProgress } from "./run-progress.ts";

/** The lines of a run that stay on standard error. */
export interface RunNotes {
  /** @param run what was known before the event */
  show(event: RunEvent, run: RunProgress): void;
  /** Says what becomes worth a word as time passes; called each second on a terminal. */
  tick?(run: RunProgress, nowMs: number): void;
}

const SLOW_MS = 60_000;
const SLOW_TIMES = 2;

const ALWAYS = ["continuing", "submit_retry", "submit_interrupted", "download_retry"] as const;
/** On a terminal only what the spinner cannot tell. */
const ON_TERMINAL = new Set<string>([...ALWAYS, "poll_failed"]);
const ELSEWHERE = new Set<string>([...ALWAYS, "claimed_elsewhere", "uploading", "accepted", "progress"]);

/** What is said of one task, which is little. */
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

/** What is said of one of several tasks before it ends. */
export function notesOfSeveral(console: Console): RunNotes {
  return {
    show(event) {
      // Of those that wait, the next one says for whom.
      const isNext = event.type === "progress" && event.waiting?.ahead === 1;
      if (isNext || event.type === "download_retry") void console.note(noteText(event));
    },
  };
}
