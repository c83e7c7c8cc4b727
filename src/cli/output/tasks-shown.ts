import { interruptedError } from "../../core/errors.ts";
import type { TaskProgressEvent } from "../../core/task/progress-events.ts";
import type { TaskReport } from "../../core/task/report.ts";
import type { ResumeTarget } from "../../core/use-cases/resume.ts";
import { counted } from "../../lib/whole-number.ts";
import { taskIdOf } from "../../task/record.ts";
import type { Session } from "../session/session.ts";
import { createStatusLine } from "./status-line.ts";
import { createProgress, type Progress, tellOfTask } from "./task-progress.ts";
import { type Stage, TaskRows } from "./task-rows.ts";

/** Shows the tasks of a command: a single one as `generate` does, several as one list. */
export class TasksShown implements Progress {
  readonly #session: Session;
  #tasks: readonly ResumeTarget[] = [];
  #names: readonly string[] = [];
  #printed = 0;
  #rows = new TaskRows([]);
  #progress: Progress;
  #draw = () => {};

  constructor(session: Session) {
    this.#session = session;
    this.#progress = told(session);
  }

  /**
   * Called once it is known which tasks there are.
   * @param state what those are that a signal leaves unfinished, after `3 tasks are`
   * @param areAwaited whether they are polled until they are finished
   */
  async begin(tasks: readonly ResumeTarget[], state: string, areAwaited = true): Promise<void> {
    this.#tasks = tasks;
    this.#names = tasks.map(nameOf);
    const rows = new TaskRows(this.#names);
    this.#rows = rows;
    const options = { isBesideResults: this.#areSeveral };
    if (this.#areSeveral && areAwaited && !this.#session.console.events) {
      const line = await createStatusLine(this.#session, options);
      this.#draw = () => line.set((columns) => rows.lines(columns));
      this.#progress = { ...told(this.#session), stop: () => line.stop() };
      this.#draw();
    } else this.#progress = await createProgress(this.#session, null, options);
    if (this.#areNamedAtOnce) this.#nameAtSignal(state);
  }

  show(event: TaskProgressEvent): void {
    this.#progress.show(event);
    if (event.type === "downloading") this.#move(this.#names.indexOf(event.taskId), "downloading");
  }

  /** A task has ended. Its lines may have to wait for those of others. @param at its place among the tasks */
  ended(at: number): void {
    this.#move(at, "finished");
  }

  /** The lines of a task are about to be printed. @returns which of several it is, for them to begin with */
  printing(at: number, { error }: TaskReport): string {
    if (!this.#areSeveral) {
      this.#progress.stop();
      return "";
    }
    this.#move(at, "printed");
    this.#printed += 1;
    const name = this.#names[at] ?? "";
    const named = error?.message.includes(name) ? "" : `, ${name}`;
    return `${this.#printed} of ${this.#names.length}${named}: `;
  }

  #move(at: number, stage: Stage | "printed"): void {
    this.#rows.move(at, stage);
    this.#draw();
  }

  /** Nothing is drawn any more; what may still happen to a task after a signal is said. */
  stop(): void {
    this.#progress.stop();
    this.#draw = () => {};
    if (!this.#session.console.events) this.#progress = told(this.#session);
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
      const left = this.#tasks.filter((task, at) => this.#rows.isLeft(at) && hasServiceId(task));
      void showInterrupted(left.map(nameOf), this.#session, state);
    };
    if (signal.aborted) name();
    else signal.addEventListener("abort", name, { once: true });
  }
}

/** Draws nothing, and says only what must be said of one of several tasks. */
function told({ console }: Session): Progress {
  return { show: (event) => tellOfTask(event, console), stop: () => {} };
}

const FIRST_IDS = 20;
/** The longest command, in characters. A longer one would fill the screen with the ids of its tasks. */
const LONGEST_COMMAND = 600;

/** Whether there is something to wait for: a request that the service has not taken ends at once. */
function hasServiceId({ record }: ResumeTarget): boolean {
  return record === null || taskIdOf(record) !== null;
}

/** The service's id, where the ledger has it: a task may be named by the beginning of one, or by nothing. */
function nameOf({ id, record }: ResumeTarget): string {
  if (record && "taskId" in record.state) return record.state.taskId;
  return id ?? record?.id ?? "";
}

/** Whether a signal ended the wait for a task. */
export function isInterrupted({ error }: TaskReport): boolean {
  return error?.type === "interrupted";
}

/** The first of them, how many there are, and where the rest is. */
async function showInterrupted(ids: readonly string[], session: Session, state: string): Promise<void> {
  if (ids.length === 0) return;
  const { signal } = session.context;
  const command = session.commandLine();
  const tasks = counted(ids.length, "task is", "tasks are");
  const more = ids.length - FIRST_IDS;
  await session.console.error([
    `${interruptedError(signal, "yes").message} ${tasks} ${state}:`,
    ...ids.slice(0, FIRST_IDS).map((id) => `  ${id}`),
    ...(more > 0 ? [`  and ${more} more, which imggen history --all lists`] : []),
    command.length > LONGEST_COMMAND
      ? "  To resume, run the same command again."
      : `  Resume with: ${command}`,
  ]);
}
