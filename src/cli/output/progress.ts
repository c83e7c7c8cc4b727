import type { TaskProgressEvent } from "../../core/task/progress-events.ts";
import type { Context } from "../app/context.ts";
import type { Console } from "./console.ts";
import { eventProgress } from "./event-lines.ts";
import { createStatusLine, type StatusLineOptions } from "./status-line.ts";
import { TaskNotes } from "./task-notes.ts";
import { lineOf, newView, type RequestFacts, showInView } from "./task-view.ts";

/** Shows the progress of a task: a spinner on a terminal, a few plain lines elsewhere. */
export interface Progress {
  show(event: TaskProgressEvent): void;
  stop(): void;
}

/** Progress of one task for this terminal, or for output that is not a terminal. @param facts null if not known */
export async function createProgress(
  console: Console,
  context: Context,
  facts: RequestFacts | null = null,
  options: StatusLineOptions = {},
): Promise<Progress> {
  if (console.events) return eventProgress(console);
  const line = await createStatusLine(console, context, options);
  const clock = () => context.clock.monotonicMs();
  const view = newView();
  const notes = new TaskNotes(console, line.isLive);
  let timer: NodeJS.Timeout | undefined;
  const draw = () => {
    const ageMs = clock() - view.sinceMs;
    notes.grow(view, ageMs);
    line.set((columns) => [lineOf(view, ageMs, facts, columns)]);
  };
  return {
    show(event) {
      notes.show(event);
      if (!showInView(view, event, clock())) return;
      draw();
      timer ??= setInterval(draw, 1000).unref();
    },
    stop() {
      clearInterval(timer);
      line.stop();
    },
  };
}
