import { interruptedError } from "../../core/errors.ts";
import type { TaskProgressEvent } from "../../core/task/progress-events.ts";
import type { TaskReport } from "../../core/task/report.ts";
import type { TaskRecord } from "../../task/record.ts";
import { shortTaskIds } from "../../task/short-task-id.ts";
import type { Session } from "../session/session.ts";
import { createStatusLine } from "./status-line.ts";
import { createProgress, type Progress, tellOfTask } from "./task-progress.ts";

/** Shows the tasks of a command: a single one as `generate` does, several as one list. */
export class TasksShown implements Progress {
  readonly #session: Session;
  #names: readonly string[] = [];
  #rows = new TaskRows([]);
  #progress: Progress;
  #draw = () => {};

  constructor(session: Session) {
    this.#session = session;
    this.#progress = told(session);
  }

  /** Called once it is known which tasks there are. @param areAwaited whether they are polled until they are finished */
  async begin(names: readonly string[], areAwaited = true): Promise<void> {
    this.#names = names;
    const options = { isBesideResults: this.areSeveral };
    if (!this.areSeveral || !areAwaited || this.#session.console.events) {
      this.#progress = await createProgress(this.#session, null, options);
      return;
    }
    const line = await createStatusLine(this.#session, options);
    const rows = new TaskRows(names);
    this.#rows = rows;
    this.#draw = () => line.set((columns) => rows.lines(columns));
    this.#progress = { ...told(this.#session), stop: () => line.stop() };
    this.#draw();
  }

  get areSeveral(): boolean {
    return this.#names.length > 1;
  }

  show(event: TaskProgressEvent): void {
    this.#progress.show(event);
    if (event.type === "downloading") this.#move(this.#names.indexOf(event.taskId), "downloading");
  }

  /** A task has ended. Its lines may have to wait for those of others. @param at its place among the names */
  ended(at: number): void {
    this.#move(at, "finished");
  }

  /** The lines of a task are about to be printed. */
  printing(at: number): void {
    if (this.areSeveral) this.#move(at, "printed");
    else this.#progress.stop();
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

  /**
   * Names the tasks that a signal leaves unfinished as soon as it arrives: each of them may take its time to end.
   * @param left the tasks that are left, asked for at the signal
   * @param state what they are, after `3 tasks are`
   */
  nameAtSignal(left: () => readonly string[], state: string): void {
    const { signal } = this.#session.context;
    const name = () => {
      this.stop();
      void showInterrupted(left(), this.#session, state);
    };
    if (signal.aborted) name();
    else signal.addEventListener("abort", name, { once: true });
  }
}

/** Draws nothing, and says only what must be said of one of several tasks. */
function told({ console }: Session): Progress {
  return { show: (event) => tellOfTask(event, console), stop: () => {} };
}

/** The stages in which a task is named, in the order of their lines. */
const STAGES = ["finished", "downloading", "running"] as const;
type Stage = (typeof STAGES)[number];

/** Where each of several tasks stands; one whose lines are printed is not named any more. */
export class TaskRows {
  readonly #names: readonly string[];
  /** The positions in `#names` of the tasks in each stage, in the order in which they reached it. */
  readonly #stages: Readonly<Record<Stage, Set<number>>>;

  constructor(ids: readonly string[]) {
    this.#names = shortTaskIds(ids);
    this.#stages = { finished: new Set(), downloading: new Set(), running: new Set(ids.keys()) };
  }

  move(at: number, stage: Stage | "printed"): void {
    const isLeft = STAGES.some((each) => this.#stages[each].delete(at));
    if (isLeft && stage !== "printed") this.#stages[stage].add(at);
  }

  /** What is shown in so many columns. */
  lines(columns: number): string[] {
    const total = this.#names.length;
    const finished = total - this.#stages.running.size - this.#stages.downloading.size;
    const lists = STAGES.flatMap((stage) => this.#list(stage, columns));
    return [`${finished} of ${total} tasks finished`, ...lists];
  }

  /** The first of these tasks by name, as many as fit, and how many more there are. */
  #list(stage: Stage, columns: number): string[] {
    let more = this.#stages[stage].size;
    if (more === 0) return [];
    let [shown, fitting] = [`${stage}:`, `${stage}: ${more}`];
    for (const at of this.#stages[stage]) {
      shown += `${shown.endsWith(":") ? "" : ","} ${this.#names[at]}`;
      if (shown.length > columns) break;
      more -= 1;
      const line = more === 0 ? shown : `${shown}, ${more} more`;
      if (line.length <= columns) fitting = line;
    }
    return [fitting];
  }
}

const FIRST_IDS = 20;
/** In characters. A longer command would fill the screen with the ids of its tasks. */
const LONGEST_COMMAND = 600;

/** The service's id, where the ledger has it: a task may be named by the beginning of one, or by nothing. */
export function nameOf({ id, record }: { id: string | null; record: TaskRecord | null }): string {
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
  const tasks = ids.length === 1 ? "1 task is" : `${ids.length} tasks are`;
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
