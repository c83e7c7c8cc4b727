import type { TaskProgressEvent } from "../../../core/task/progress-events.ts";
import { shortTaskIds } from "../../../task/short-task-id.ts";
import { createStatusLine } from "../../output/status-line.ts";
import { createProgress, type Progress, tellOfTask } from "../../output/task-progress.ts";
import type { Session } from "../../session/session.ts";

/** Shows how tasks are waited for: one as everywhere, several together. */
export interface StatusProgress extends Shown {
  /** Says which tasks there are, before any of them is shown. */
  begin(ids: readonly string[]): Promise<void>;
}

interface Shown extends Progress {
  /** A task has finished. Its line follows those of the tasks named before it. @param at its place among the ids */
  finished(at: number): void;
  /** The line of a task is about to be printed. */
  printing(at: number): void;
}

/** @param waits whether tasks are polled until they are finished */
export function createStatusProgress(waits: boolean, session: Session): StatusProgress {
  let shown: Shown | null = null;
  return {
    async begin(ids) {
      const together = waits && ids.length > 1 && !session.console.events;
      shown = await (together ? severalTasks(ids, session) : eachAlone(session));
    },
    show: (event) => shown?.show(event),
    finished: (at) => shown?.finished(at),
    printing: (at) => shown?.printing(at),
    stop() {
      shown?.stop();
      // A task that ends after a signal is not drawn any more.
      shown = null;
    },
  };
}

async function eachAlone({ console, context }: Session): Promise<Shown> {
  const progress = await createProgress(console, context, null, { isBesideResults: true });
  return { ...progress, finished: () => {}, printing: () => {} };
}

async function severalTasks(ids: readonly string[], { console, context }: Session): Promise<Shown> {
  const line = await createStatusLine(console, context, { isBesideResults: true });
  const view = new SeveralTasks(ids);
  const draw = () => line.set((columns) => view.lines(columns));
  draw();
  return {
    show: (event: TaskProgressEvent) => tellOfTask(event, console),
    finished(at) {
      view.finished(at);
      draw();
    },
    printing(at) {
      view.printing(at);
      draw();
    },
    stop: () => line.stop(),
  };
}

/** Which of several tasks have finished, and which have not. */
export class SeveralTasks {
  readonly #names: readonly string[];
  readonly #running: Set<number>;
  /** Finished, and not printed yet: tasks named before them are still running. */
  readonly #waiting = new Set<number>();

  constructor(ids: readonly string[]) {
    this.#names = shortTaskIds(ids);
    this.#running = new Set(ids.keys());
  }

  finished(at: number): void {
    if (this.#running.delete(at)) this.#waiting.add(at);
  }

  printing(at: number): void {
    this.#running.delete(at);
    this.#waiting.delete(at);
  }

  /** What is shown in so many columns. */
  lines(columns: number): string[] {
    const total = this.#names.length;
    return [
      `${total - this.#running.size} of ${total} tasks finished`,
      ...this.#list("finished", this.#waiting, columns),
      ...this.#list("running", this.#running, columns),
    ];
  }

  /** The first of these tasks by name, as many as fit, and how many more there are. */
  #list(label: string, which: ReadonlySet<number>, columns: number): string[] {
    const names = this.#names.filter((_, at) => which.has(at));
    if (names.length === 0) return [];
    let [shown, fitting] = [`${label}: `, `${label}: ${names.length}`];
    for (const [at, name] of names.entries()) {
      shown += `${at === 0 ? "" : ", "}${name}`;
      if (shown.length > columns) break;
      const more = names.length - at - 1;
      const line = more === 0 ? shown : `${shown}, ${more} more`;
      if (line.length <= columns) fitting = line;
    }
    return [fitting];
  }
}
