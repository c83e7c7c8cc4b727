import type { TaskSuccess } from "../client/results.ts";
import type { OnTaskProgress, TaskProgressEvent } from "../core/task/progress-events.ts";

/** One request under way. It outlasts the call that began it: the image is saved even if the client never asks again. */
export class Job {
  /** What was asked for: the same request again is the same job. */
  readonly key: string;
  readonly result: Promise<TaskSuccess>;
  #taskId: string | null = null;
  readonly #watchers = new Set<OnTaskProgress>();

  constructor(key: string, work: (onProgress: OnTaskProgress) => Promise<TaskSuccess>) {
    this.key = key;
    this.result = work((event) => this.#tell(event));
    // Every call that waits for it gets the error; there may be none, and that must not end the program.
    this.result.catch(() => {});
  }

  /** The service's id; null until the task is accepted. */
  get taskId(): string | null {
    return this.#taskId;
  }

  /** @returns what ends the watching */
  watch(watcher: OnTaskProgress): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  #tell(event: TaskProgressEvent): void {
    if ("taskId" in event) this.#taskId = event.taskId;
    for (const watcher of this.#watchers) watcher(event);
  }
}

/** The requests of one session that are under way. */
export class Jobs {
  readonly #running = new Set<Job>();

  start(key: string, work: (onProgress: OnTaskProgress) => Promise<TaskSuccess>): Job {
    const job = new Job(key, work);
    this.#running.add(job);
    const end = () => this.#running.delete(job);
    job.result.then(end, end);
    return job;
  }

  withKey(key: string): Job | undefined {
    return [...this.#running].find((job) => job.key === key);
  }

  /** @param taskId the service's id, or its beginning */
  ofTask(taskId: string): Job | undefined {
    return [...this.#running].find((job) => job.taskId?.startsWith(taskId));
  }

  get all(): Job[] {
    return [...this.#running];
  }
}
