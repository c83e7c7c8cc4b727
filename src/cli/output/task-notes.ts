import { resumeCommand } from "../../client/failure.ts";
import type { TaskProgressEvent } from "../../core/task/progress-events.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { Console } from "./console.ts";
import type { TaskView } from "./task-view.ts";
import { claimedText, continuingText } from "./text.ts";

const SLOW_MS = 60_000;
const SLOW_TIMES = 2;

/** The lines that stay: few without a terminal, and on one only what the spinner cannot tell. */
export class TaskNotes {
  readonly #console: Console;
  readonly #isLive: boolean;
  #taskId: string | null = null;
  #isIdShown = false;

  constructor(console: Console, isLive: boolean) {
    this.#console = console;
    this.#isLive = isLive;
  }

  show(event: TaskProgressEvent): void {
    if (event.type === "accepted" || event.type === "waiting") this.#taskId = event.taskId;
    // Even under --quiet: the screen may be the only place that has the task's id.
    if (event.type === "ledger_warning") void this.#console.error(`warning: ${event.message}`);
    const line = this.#lineOf(event);
    if (line !== null) void this.#console.note(line);
  }

  /** On a terminal the id is shown once, when it may soon be needed: the task is slow, or a poll has failed. */
  grow({ taskId, verb, usualMs }: TaskView, ageMs: number): void {
    if (!this.#isLive || this.#isIdShown || taskId === null || verb !== "Generating") return;
    if (ageMs < Math.max(SLOW_MS, SLOW_TIMES * (usualMs ?? 0))) return;
    this.#isIdShown = true;
    void this.#console.note(
      `This is taking a while. Ctrl-C loses nothing; resume with: ${resumeCommand(taskId)}`,
    );
  }

  #lineOf(event: TaskProgressEvent): string | null {
    switch (event.type) {
      case "claimed_elsewhere":
        return this.#isLive ? null : claimedText(event.id);
      case "continuing":
        return continuingText(event.taskId);
      case "uploading":
        return this.#isLive ? null : `Uploading ${event.file}…`;
      case "submit_retry":
        return `Not sent yet: ${event.why} Next try in ${formatDuration(event.delayMs)}.`;
      case "submit_interrupted":
        return `Stopping. Waiting up to ${formatDuration(event.waitMs)} for the task id of the request under way…`;
      case "accepted":
        return this.#isLive ? null : `Task ${event.taskId} accepted.`;
      case "poll_failed":
        return this.#pollFailed(event.why);
      case "download_retry":
        return `Download: ${event.why}. Next try in ${formatDuration(event.delayMs)}.`;
      default:
        return null;
    }
  }

  #pollFailed(why: string): string | null {
    if (!this.#isLive || this.#isIdShown || this.#taskId === null) return null;
    this.#isIdShown = true;
    return `Task ${this.#taskId}: ${why}. Still waiting.`;
  }
}
