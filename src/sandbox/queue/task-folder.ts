import { type Dirent, mkdirSync, readdirSync, renameSync } from "node:fs";
import path from "node:path";
import { makeFolder, syncFolder, whileInUse } from "../../lib/durable.ts";
import { errorCode } from "../../lib/error-text.ts";
import { jsonOrNull } from "../../lib/json.ts";
import { readPublished } from "../../lib/publish.ts";
import { isFolder } from "../../lib/read-file.ts";
import { createWhole } from "../../lib/write-whole.ts";
import type { GeneratorJob } from "../../providers/generator.ts";
import { isNewTaskId } from "../task-id.ts";
import { advance, isEnded, type Step, SUBMITTED, type TaskState } from "./task-state.ts";

/** A task as it was submitted; never changed. */
export interface QueuedTask extends Omit<GeneratorJob, "index" | "folder"> {
  imageCount: number;
  /** As its user had set it: whoever runs the task later may not know. */
  isPaid: boolean;
  /** Milliseconds since the epoch. */
  submittedAt: number;
}

/** Another process has written the next step of a task: it is that one's now. */
export class TakenOverError extends Error {
  override readonly name = "TakenOverError";
}

const JOB = "task.json";
const stepFile = (number: number) => `step-${number}.json`;

/**
 * A task on disk: a folder with the task as it was submitted, a file for each step, and its images. The steps have
 * numbers, and each file is created exclusively and complete: of two processes that both take a task for theirs, only one
 * writes the next step. As the step `started` comes before a request, no belief about who is alive can send it twice.
 */
export class TaskFolder {
  readonly task: QueuedTask;
  #folder: string;
  #state: TaskState;

  constructor(folder: string, task: QueuedTask, state: TaskState) {
    this.#folder = folder;
    this.task = task;
    this.#state = state;
  }

  get folder(): string {
    return this.#folder;
  }

  get state(): TaskState {
    return this.#state;
  }

  /** Where the image of the last `started` step is made: no other request has the same folder. */
  get jobFolder(): string {
    return path.join(this.#folder, String(this.#state.steps));
  }

  makeJobFolder(): void {
    mkdirSync(this.jobFolder, { recursive: true, mode: 0o700 });
  }

  /**
   * Writes the next step, and waits until the disk has it.
   * @throws TakenOverError if another process wrote one; or the disk's error
   */
  async record(step: Step): Promise<void> {
    const next = advance(this.#state, step, this.task.imageCount);
    if (!(await this.#create(next.steps, step))) {
      throw new TakenOverError(`another process continues task ${this.task.taskId}`);
    }
    this.#state = next;
  }

  async #create(number: number, step: Step): Promise<boolean> {
    try {
      return await createWhole(path.join(this.#folder, stepFile(number)), `${JSON.stringify(step)}\n`, 0o600);
    } catch (error) {
      // It has been moved to where finished tasks are.
      if (errorCode(error) === "ENOENT") return false;
      throw error;
    }
  }

  /** Moves the task to another folder of tasks. @returns false if another process did */
  async moveTo(folder: string): Promise<boolean> {
    const target = path.join(folder, this.task.taskId);
    try {
      await whileInUse(() => renameSync(this.#folder, target));
    } catch (error) {
      if (errorCode(error) === "ENOENT") return false;
      throw error;
    }
    const from = path.dirname(this.#folder);
    this.#folder = target;
    await Promise.all([syncFolder(folder), syncFolder(from)]);
    return true;
  }
}

/** All tasks of a generator: unfinished ones in a folder of their own, which stays small however long the history. */
export class QueuedTasks {
  readonly #open: string;
  readonly #done: string;

  private constructor(open: string, done: string) {
    this.#open = open;
    this.#done = done;
  }

  /** @throws the disk's error */
  static async at(folder: string): Promise<QueuedTasks> {
    const tasks = new QueuedTasks(path.join(folder, "open"), path.join(folder, "done"));
    await Promise.all([makeFolder(tasks.#open, 0o700), makeFolder(tasks.#done, 0o700)]);
    return tasks;
  }

  /** Writes a new task. It survives a power cut once this returns. */
  async add(task: QueuedTask): Promise<TaskFolder> {
    const folder = path.join(this.#open, task.taskId);
    await makeFolder(folder, 0o700);
    await createWhole(path.join(folder, JOB), `${JSON.stringify(task)}\n`, 0o600);
    return new TaskFolder(folder, task, SUBMITTED);
  }

  /** The task of an untrusted id, which may be any text; null if there is none. @throws if its record is damaged */
  async find(taskId: string): Promise<TaskFolder | null> {
    if (!isNewTaskId(taskId)) return null;
    const [open, done] = [path.join(this.#open, taskId), path.join(this.#done, taskId)];
    // It may be moved while it is read.
    const found = (await read(open)) ?? (await read(done));
    if (found && found.folder === open && isEnded(found.state)) await this.finish(found);
    return found;
  }

  /** The ids of the tasks that are not finished. */
  openIds(): string[] {
    return readdirSync(this.#open).filter(isNewTaskId);
  }

  isOpen(taskId: string): boolean {
    return isFolder(path.join(this.#open, taskId));
  }

  /** Puts a task that is at its end away. */
  async finish(folder: TaskFolder): Promise<void> {
    await folder.moveTo(this.#done);
  }
}

async function read(folder: string): Promise<TaskFolder | null> {
  try {
    const task = await readWhole<QueuedTask>(path.join(folder, JOB));
    let state: TaskState = SUBMITTED;
    for (const number of stepNumbers(readdirSync(folder, { withFileTypes: true }))) {
      const step = await readWhole<Step>(path.join(folder, stepFile(number)));
      if (number !== state.steps + 1) throw new Error(`a step of ${folder} is missing`);
      state = advance(state, step, task.imageCount);
    }
    return new TaskFolder(folder, task, state);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

function stepNumbers(entries: readonly Dirent[]): number[] {
  const numbers = entries.map(({ name }) => Number(/^step-(\d+)\.json$/.exec(name)?.[1] ?? 0));
  return numbers.filter((number) => number > 0).sort((a, b) => a - b);
}

async function readWhole<Content>(file: string): Promise<Content> {
  const text = await readPublished(file, (read) => jsonOrNull(read) !== null);
  return JSON.parse(text) as Content;
}
