import { getTargetId, mayBeAccepted } from "../../client/report-json.ts";
import type { TaskReport } from "../../core/engine/report.ts";
import type { ResumeTarget } from "../../core/use-cases/resume.ts";
import type { RunEvent } from "../../core/use-cases/run-events.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { pluralize } from "../../lib/whole-number.ts";
import type { Session } from "../session/session.ts";
import { newRun } from "./run-progress.ts";
import { createProgress, type Progress } from "./task-progress.ts";
import { taskRows, taskView } from "./task-view.ts";

/** Shows the tasks of a command: a single task in the same way as `generate`, several tasks as a list. */
export class TasksShown implements Progress {
  readonly #session: Session;
  #tasks: readonly ResumeTarget[] = [];
  #printed = 0;
  #progress: Awaited<ReturnType<typeof createProgress>> | null = null;

  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Starts the display. Must be called before other methods.
   * @param state completes the sentence `3 tasks are …` about the tasks that are unfinished after a signal
   * @param areAwaited whether the tasks are polled until they are finished
   */
  async begin(tasks: readonly ResumeTarget[], state: string, areAwaited = true): Promise<void> {
    this.#tasks = tasks;
    const names = tasks.map(getTargetId);
    const view = this.#isMultiple && areAwaited ? taskRows(names) : taskView(null);
    this.#progress = await createProgress(this.#session, view, { isBesideResults: this.#isMultiple });
    this.show({ type: "begun", names });
    if (this.#listsInterruptedTasks) this.#listOnSignal(state);
  }

  show(event: RunEvent): void {
    this.#progress?.show(event);
  }

  markEnded(index: number): void {
    this.show({ type: "ended", at: index });
  }

  /** @returns the prefix of the task's lines; empty for a single task */
  beginPrinting(at: number, { error }: TaskReport): string {
    const task = this.#tasks[at];
    if (task === undefined || !this.#isMultiple) {
      this.stop();
      return "";
    }
    this.show({ type: "printed", at });
    this.#printed += 1;
    const name = getTargetId(task);
    const nameSuffix = error?.message.includes(name) ? "" : `, ${name}`;
    return `${this.#printed} of ${this.#tasks.length}${nameSuffix}: `;
  }

  stop(): void {
    this.#progress?.stop();
  }

  get #isMultiple(): boolean {
    return this.#tasks.length > 1;
  }

  get #listsInterruptedTasks(): boolean {
    return this.#isMultiple && !this.#session.options.json;
  }

  /** Whether a task was listed as unfinished after a signal, so that no further message about it is needed. */
  isListed(report: TaskReport): boolean {
    return this.#listsInterruptedTasks && isInterrupted(report);
  }

  /** Some tasks can take long to end, so they are listed as soon as a signal arrives. */
  #listOnSignal(state: string): void {
    const { signal } = this.#session.context;
    const list = () => {
      this.stop();
      const { running, downloading } = this.#progress?.run.stages ?? newRun().stages;
      // Requests that were not accepted end at once and cannot be resumed.
      const unfinished = this.#tasks.filter(
        (task, at) => (running.has(at) || downloading.has(at)) && mayBeAccepted(task),
      );
      void showInterrupted(unfinished.map(getTargetId), this.#session, state);
    };
    if (signal.aborted) list();
    else signal.addEventListener("abort", list, { once: true });
  }
}

const MAX_LISTED_IDS = 20;
const MAX_COMMAND_LENGTH = 600;

export function isInterrupted({ error }: TaskReport): boolean {
  return error?.type === "interrupted";
}

async function showInterrupted(ids: readonly string[], session: Session, state: string): Promise<void> {
  if (ids.length === 0) return;
  const { signal } = session.context;
  const command = session.commandLine();
  const tasks = pluralize(ids.length, "task is", "tasks are");
  const remainingCount = ids.length - MAX_LISTED_IDS;
  await session.console.error([
    `${interruptedError(signal, "yes").message} ${tasks} ${state}:`,
    ...ids.slice(0, MAX_LISTED_IDS).map((id) => `  ${id}`),
    ...(remainingCount > 0 ? [`  and ${remainingCount} more, which imggen history --all lists`] : []),
    command.length > MAX_COMMAND_LENGTH
      ? "  To resume, run the same command again."
      : `  Resume with: ${command}`,
  ]);
}
