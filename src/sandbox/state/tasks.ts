import { readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { removeIfPresent } from "../../lib/durable.ts";
import { errorCode } from "../../lib/error-text.ts";
import { isNewTaskId } from "../../task/task-id.ts";

/** A task as it was submitted. Its status follows from the time; the file is never changed. */
export interface Task {
  taskId: string;
  /** The id of the account that was charged. */
  account: string;
  /** Without its directives. */
  prompt: string;
  model: string;
  /** Identifies the reference images, without their URLs. Absent if there are none. */
  references?: string;
  ratio: string;
  /** Absent if neither the request nor the model sets it. */
  quality?: string;
  imageCount: number;
  /** Milliseconds since the epoch. */
  submittedAt: number;
  /** How long it runs, in milliseconds. */
  durationMs: number;
  end: "completed" | "failed";
  /** What its result URLs return. */
  image: "whole" | "cut short" | "error page";
  /** Whether the first result URL that is returned has expired already. */
  firstUrlExpired: boolean;
}

/** The tasks of all accounts, one file each. */
export class Tasks {
  readonly #folder: string;
  readonly #shown = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Writes the file completely before it has its name, so that another process never reads a part of it. */
  async add(task: Task): Promise<void> {
    const temporary = path.join(this.#folder, `.${task.taskId}.tmp`);
    await writeFile(temporary, `${JSON.stringify(task)}\n`, { mode: 0o600, flag: "wx" });
    await rename(temporary, this.#file(task.taskId));
  }

  /** The task of an untrusted id, which may be any text; null if there is none. */
  async find(taskId: string): Promise<Task | null> {
    if (!isNewTaskId(taskId)) return null;
    try {
      return JSON.parse(await readFile(this.#file(taskId), "utf8"));
    } catch (error) {
      if (errorCode(error) === "ENOENT") return null;
      throw error;
    }
  }

  remove(taskId: string): void {
    removeIfPresent(this.#file(taskId));
  }

  /** Whether this is the first time, in this process, that a task's result is returned. */
  isFirstShowing({ taskId }: Task): boolean {
    const isFirst = !this.#shown.has(taskId);
    this.#shown.add(taskId);
    return isFirst;
  }

  #file(taskId: string): string {
    return path.join(this.#folder, `${taskId}.json`);
  }
}
