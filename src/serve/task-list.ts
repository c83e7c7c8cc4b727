import type { Task } from "../task/task.ts";
import { type Entry, entryOf } from "./queue-entry.ts";

/** How many ended tasks are kept in memory. */
const MOST_ENDED = 2_000;

/** The tasks that a server has before it, and those that have ended lately. */
export class TaskList {
  /** Sorted by the ledger's ids, which is the order of their submits. */
  protected readonly entries: Entry[] = [];
  readonly #byTaskId = new Map<string, Entry>();
  readonly #ended = new Map<string, Task>();

  /** Adds an open task, unless it is there. */
  add(record: Task): void {
    const entry = entryOf(record);
    if (this.#byTaskId.has(entry.taskId) || this.#ended.has(entry.taskId)) return;
    const after = this.entries.findLastIndex((each) => each.record.id < record.id);
    this.entries.splice(after + 1, 0, entry);
    this.#byTaskId.set(entry.taskId, entry);
  }

  entryOf(taskId: string): Entry | undefined {
    return this.#byTaskId.get(taskId);
  }

  /** A task that has ended lately, as its file says. */
  ended(taskId: string): Task | undefined {
    return this.#ended.get(taskId);
  }

  /** How many tasks are before this one. */
  aheadOf(entry: Entry): number {
    return Math.max(this.entries.indexOf(entry), entry.line?.ahead ?? 0);
  }

  /** The tasks that this process is not working on. */
  protected idle(): Entry[] {
    return this.entries.filter(({ isRunning }) => !isRunning);
  }

  /** The ledger's ids of all tasks that are here. */
  ids(): Set<string> {
    return new Set(this.entries.map(({ record }) => record.id));
  }

  /** The names of the files that its tasks have for reference images. */
  references(): Set<string> {
    const urls = this.entries.flatMap(({ record }) => record.intent.request.image ?? []);
    return new Set(urls.map((url) => url.slice(url.lastIndexOf("/") + 1)));
  }

  /** A task has ended. */
  protected end(entry: Entry): void {
    this.leave(entry);
    this.#ended.set(entry.taskId, entry.record);
    for (const taskId of this.#ended.keys()) {
      if (this.#ended.size <= MOST_ENDED) break;
      this.#ended.delete(taskId);
    }
  }

  /** A task is no longer this process's. */
  protected leave(entry: Entry): void {
    const at = this.entries.indexOf(entry);
    if (at !== -1) this.entries.splice(at, 1);
    this.#byTaskId.delete(entry.taskId);
  }
}
