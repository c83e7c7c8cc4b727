import { readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { removeIfPresent } from "../../lib/durable.ts";
import { errorCode } from "../../lib/error-text.ts";
import { isNewTaskId } from "../../task/task-id.ts";

/** A submitted task. Its file never changes, because the status is calculated from the current time. */
export interface Task {
  taskId: string;
  account: string;
  prompt: string;
  model: string;
  /** Digest of the URLs of the reference images. */
  references?: string;
  ratio: string;
  /** Absent if neither the request nor the model sets a quality. */
  quality?: string;
  imageCount: number;
  /** Milliseconds since the epoch. */
  submittedAt: number;
  durationMs: number;
  end: "completed" | "failed";
  image: "whole" | "cut short" | "error page";
  /** Whether the first result URL has already expired. */
  firstUrlExpired: boolean;
}

export class Tasks {
  readonly #folder: string;
  readonly #returnedIds = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Renames a temporary file, so that other processes read only complete files. */
  async add(task: Task): Promise<void> {
    const temporary = path.join(this.#folder, `.${task.taskId}.tmp`);
    await writeFile(temporary, `${JSON.stringify(task)}\n`, { mode: 0o600, flag: "wx" });
    await rename(temporary, this.#file(task.taskId));
  }

  /** @param taskId untrusted text */
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

  claimFirstResult({ taskId }: Task): boolean {
    const isFirst = !this.#returnedIds.has(taskId);
    this.#returnedIds.add(taskId);
    return isFirst;
  }

  #file(taskId: string): string {
    return path.join(this.#folder, `${taskId}.json`);
  }
}
