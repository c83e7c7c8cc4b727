import type { TaskProgressEvent } from "../../core/task/progress-events.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { Console } from "./console.ts";

/** Says what a person should know of one of several tasks before it ends: each line names its task. */
export function tellOfTask(event: TaskProgressEvent, console: Console): void {
  // Even under --quiet: the screen may be the only place that has the task's id.
  if (event.type === "ledger_warning") void console.error(`warning: ${event.message}`);
  if (event.type === "download_retry")
    void console.note(`${event.taskId}: ${event.why}. Next try in ${formatDuration(event.delayMs)}.`);
}
