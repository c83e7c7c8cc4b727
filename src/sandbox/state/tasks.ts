import { readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { removeIfPresent } from "../../lib/durable.ts";
import { errorCode } from "../../lib/error-text.ts";
import { isNewTaskId } from "../../task/task-id.ts";

/** A submitted task. Its status follows from the time; the file never changes. */
export interface Task {
  taskId: string;
  /** The id of the account that was charged. */
  account: string;
  /** Without directives. */
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
  /** In milliseconds. */
  durationMs: number;
  end: "completed" | "failed";
  /** Content behind its result URLs. */
  image: "whole" | "cut short" | "error page";
  /** Whether the first returned result URL has expired already. */
  firstUrlExpired: boolean;
}

/** The tasks of all accounts, one file each. */
export class Tasks {
  readonly #folder: string;
  readonly #returnedIds = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Writes the file before it gets its name, so that no process reads a partial one. */
  async add(task: Task): Promise<void> {
    const temporary = path.join(this.#folder, `.${task.taskId}.tmp`);
    await writeFile(temporary, `${JSON.stringify(task)}\n`, { mode: 0o600, flag: "wx" });
    await rename(temporary, this.#file(task.taskId));
  }

  /** The task of an untrusted id; null if there is none. */
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

  /** Whether this process returns a task's result for the first time. */
  isFirstResult({ taskId }: Task): boolean {
    const isFirst = !this.#returnedIds.has(taskId);
    this.#returnedIds.add(taskId);
    return isFirst;
  }

  #file(taskId: string): string {
    return path.join(this.#folder, `${taskId}.json`);
  }
}
