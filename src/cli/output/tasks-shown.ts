import { isTaken, targetName } from "../../client/report-json.ts";
import type { TaskReport } from "../../core/engine/report.ts";
import type { ResumeTarget } from "../../core/use-cases/resume.ts";
import type { RunEvent } from "../../core/use-cases/run-events.ts";
import { interruptedError } from "../../lib/interrupted.ts";
import { pluralize } from "../../lib/whole-number.ts";
import type { Session } from "../session/session.ts";
import { newRun } from "./run-progress.ts";
import { createProgress, type Progress } from "./task-progress.ts";
import { taskRows, taskView } from "./task-view.ts";

/** Shows the tasks of a command: a single one as `generate` does, several as one list. */
export class TasksShown implements Progress {
  readonly #session: Session;
  #tasks: readonly ResumeTarget[] = [];
  #printed = 0;
  /** null until it is known which tasks there are. */
  #progress: Awaited<ReturnType<typeof createProgress>> | null = null;

  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Called once it is known which tasks there are.
   * @param state what those are that a signal leaves unfinished, after `3 tasks are`
   * @param areAwaited whether they are polled until they are finished
   */
  async begin(tasks: readonly ResumeTarget[], state: string, areAwaited = true): Promise<void> {
    this.#tasks = tasks;
    const names = tasks.map(targetName);
    const view = this.#areSeveral && areAwaited ? taskRows(names) : taskView(null);
    this.#progress = await createProgress(this.#session, view, { isBesideResults: this.#areSeveral });
    this.show({ type: "begun", names });
    if (this.#areNamedAtOnce) this.#nameAtSignal(state);
  }

  show(event: RunEvent): void {
    this.#progress?.show(event);
  }

  /** A task has ended. Its lines may have to wait for those of others. @param at its place among the tasks */
  markEnded(at: number): void {
    this.show({ type: "ended", at });
  }

  /** The lines of a task are about to be printed. @returns which of several it is, for them to begin with */
  printing(at: number, { error }: TaskReport): string {
    const task = this.#tasks[at];
    if (task === undefined || !this.#areSeveral) {
      this.stop();
      return "";
    }
    this.show({ type: "printed", at });
    this.#printed += 1;
    const name = targetName(task);
    const nameSuffix = error?.message.includes(name) ? "" : `, ${name}`;
    return `${this.#printed} of ${this.#tasks.length}${nameSuffix}: `;
  }

  stop(): void {
    this.#progress?.stop();
  }

  get #areSeveral(): boolean {
    return this.#tasks.length > 1;
  }

  get #areNamedAtOnce(): boolean {
    return this.#areSeveral && !this.#session.options.json;
  }

  /** Whether a signal has left a task unfinished, which was said of all such tasks at once. */
  isNamed(report: TaskReport): boolean {
    return this.#areNamedAtOnce && isInterrupted(report);
  }

  /** Names the tasks that a signal leaves unfinished as soon as it arrives: each of them may take its time to end. */
  #nameAtSignal(state: string): void {
    const { signal } = this.#session.context;
    const name = () => {
      this.stop();
      const { running, downloading } = this.#progress?.run.stages ?? newRun().stages;
      // A request that the service has not taken ends at once, so there is nothing to wait for.
      const unfinished = this.#tasks.filter(
        (task, at) => (running.has(at) || downloading.has(at)) && isTaken(task),
      );
      void showInterrupted(unfinished.map(targetName), this.#session, state);
    };
    if (signal.aborted) name();
    else signal.addEventListener("abort", name, { once: true });
  }
}

const FIRST_IDS = 20;
/** The longest command, in characters. A longer one would fill the screen with the ids of its tasks. */
const MAX_COMMAND_LENGTH = 600;

/** Whether a signal ended the wait for a task. */
export function isInterrupted({ error }: TaskReport): boolean {
  return error?.type === "interrupted";
}

/** Names the first tasks, their number, and the command that lists the others. */
async function showInterrupted(ids: readonly string[], session: Session, state: string): Promise<void> {
  if (ids.length === 0) return;
  const { signal } = session.context;
  const command = session.commandLine();
  const tasks = pluralize(ids.length, "task is", "tasks are");
  const more = ids.length - FIRST_IDS;
  await session.console.error([
    `${interruptedError(signal, "yes").message} ${tasks} ${state}:`,
    ...ids.slice(0, FIRST_IDS).map((id) => `  ${id}`),
    ...(more > 0 ? [`  and ${more} more, which imggen history --all lists`] : []),
    command.length > MAX_COMMAND_LENGTH
      ? "  To resume, run the same command again."
      : `  Resume with: ${command}`,
  ]);
}
