import { ImggenFailure } from "../client/report-json.ts";
import type { TaskSuccess } from "../client/results.ts";
import type { OnTaskProgress, TaskProgressEvent } from "../core/engine/events.ts";
import { InterruptedError } from "../lib/interrupted.ts";

export interface Call {
  signal: AbortSignal;
  onProgress: OnTaskProgress;
}

/** @throws ImggenFailure */
type Work = (call: Call) => Promise<TaskSuccess>;

/** A request or task that continues after its call is answered. It is stopped only if all its calls are cancelled. */
export class Job {
  /** Identity of the request. A call with the same key joins this job, so that nothing is charged twice. */
  readonly key: string;
  readonly result: Promise<TaskSuccess>;
  readonly queued: Promise<undefined>;
  #taskId: string | null;
  #recordId: string | null = null;
  #resolveQueued = () => {};
  #activeCalls = 0;
  readonly #stop = new AbortController();
  readonly #watchers = new Set<OnTaskProgress>();

  constructor(key: string, work: Work, taskId: string | null) {
    this.key = key;
    this.#taskId = taskId;
    this.queued = new Promise((resolve) => (this.#resolveQueued = () => resolve(undefined)));
    if (taskId !== null) this.#resolveQueued();
    this.result = work({ signal: this.#stop.signal, onProgress: (event) => this.#handleEvent(event) });
    // Prevents an unhandled rejection if no call waits for the result. Waiting calls still receive the error.
    this.result.catch(() => {});
  }

  /** The provider's id; null until the provider accepts the task. */
  get taskId(): string | null {
    return this.#taskId;
  }

  /** The ledger's id; null until the task is recorded. */
  get recordId(): string | null {
    return this.#recordId ?? this.#taskId;
  }

  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Adds a waiting call. @returns a function that removes the call after its answer */
  join({ signal, onProgress }: Call): () => void {
    this.#activeCalls += 1;
    this.#watchers.add(onProgress);
    const cancel = () => {
      this.#activeCalls -= 1;
      if (this.#activeCalls === 0) this.#stop.abort(new InterruptedError(null));
    };
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
    return () => {
      this.#watchers.delete(onProgress);
      signal.removeEventListener("abort", cancel);
    };
  }

  #handleEvent(event: TaskProgressEvent): void {
    if ("id" in event) this.#recordId = event.id;
    if ("taskId" in event) this.#taskId = event.taskId ?? this.#taskId;
    if (this.#taskId !== null && event.type !== "recorded") this.#resolveQueued();
    for (const watcher of this.#watchers) watcher(event);
  }
}

export class Jobs {
  readonly #running = new Set<Job>();
  readonly #charged = new Map<string, string>();

  /**
   * Starts a job. Its work begins after stopped jobs with the same key have ended, so that their tasks are recorded.
   * @param taskId id of the task to finish, or null for a new request
   */
  start(key: string, work: Work, taskId: string | null = null): Job {
    const stoppingJobs = [...this.#running].filter((job) => job.isStopped && job.key === key);
    const startWork = async (call: Call) => {
      await Promise.allSettled(stoppingJobs.map(({ result }) => result));
      return work(call);
    };
    const job = new Job(key, startWork, taskId);
    this.#running.add(job);
    const onEnd = (charged: string | null) => {
      this.#running.delete(job);
      if (charged !== null) this.#charged.set(key, charged);
    };
    job.result.then(
      ({ taskId: savedTaskId }) => onEnd(savedTaskId),
      (error) => onEnd(error instanceof ImggenFailure && isContinuable(error) ? error.taskId : null),
    );
    return job;
  }

  /** The task of an ended job, if it can be resumed or might have been charged. The API key does not matter. */
  chargedTaskId(key: string): string | undefined {
    return this.#charged.get(key);
  }

  findByKey(key: string): Job | undefined {
    return this.active.find((job) => job.key === key);
  }

  findByTask(taskId: string): Job | undefined {
    return this.active.find((job) => job.taskId === taskId);
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  get active(): Job[] {
    return [...this.#running].filter(({ isStopped }) => !isStopped);
  }

  async waitUntilStopped(): Promise<void> {
    await Promise.allSettled([...this.#running].filter((job) => job.isStopped).map(({ result }) => result));
  }
}

function isContinuable({ resume, charged }: ImggenFailure): boolean {
  return resume !== null || charged !== "no";
}
