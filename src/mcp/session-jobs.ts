import { ImggenFailure } from "../client/report-json.ts";
import type { TaskSuccess } from "../client/results.ts";
import type { OnTaskProgress, TaskProgressEvent } from "../core/engine/events.ts";
import { InterruptedError } from "../lib/interrupted.ts";

/** One call of a tool. */
export interface Call {
  /** Aborts if the client cancels the call. */
  signal: AbortSignal;
  onProgress: OnTaskProgress;
}

/** @throws ImggenFailure */
type Work = (call: Call) => Promise<TaskSuccess>;

/**
 * One running request or task. It outlasts its call: the image is saved even if the client never asks again. It is
 * stopped only if all its calls are cancelled before an answer.
 */
export class Job {
  /** Identifies the request: an equal request joins this job. */
  readonly key: string;
  readonly result: Promise<TaskSuccess>;
  /** Resolves once its task has an id, and is sent or waits for its turn. */
  readonly queued: Promise<undefined>;
  #taskId: string | null;
  #recordId: string | null = null;
  #noteQueued = () => {};
  #callsNotCancelled = 0;
  readonly #stop = new AbortController();
  readonly #watchers = new Set<OnTaskProgress>();

  constructor(key: string, work: Work, taskId: string | null) {
    this.key = key;
    this.#taskId = taskId;
    this.queued = new Promise((resolve) => (this.#noteQueued = () => resolve(undefined)));
    if (taskId !== null) this.#noteQueued();
    this.result = work({ signal: this.#stop.signal, onProgress: (event) => this.#tell(event) });
    // Every waiting call gets the error; without one, it must not end the program.
    this.result.catch(() => {});
  }

  /** The service's id; null until the task is accepted. */
  get taskId(): string | null {
    return this.#taskId;
  }

  /** The ledger's id of its task; null until it is recorded. */
  get recordId(): string | null {
    return this.#recordId ?? this.#taskId;
  }

  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Lets a call wait for the job. @returns a function that ends the wait after an answer */
  join({ signal, onProgress }: Call): () => void {
    this.#callsNotCancelled += 1;
    this.#watchers.add(onProgress);
    const cancel = () => {
      this.#callsNotCancelled -= 1;
      if (this.#callsNotCancelled === 0) this.#stop.abort(new InterruptedError(null));
    };
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
    return () => {
      this.#watchers.delete(onProgress);
      signal.removeEventListener("abort", cancel);
    };
  }

  #tell(event: TaskProgressEvent): void {
    if ("id" in event) this.#recordId = event.id;
    if ("taskId" in event) this.#taskId = event.taskId ?? this.#taskId;
    if (this.#taskId !== null && event.type !== "recorded") this.#noteQueued();
    for (const watcher of this.#watchers) watcher(event);
  }
}

/** Running requests and tasks of one session. */
export class Jobs {
  readonly #running = new Set<Job>();
  readonly #charged = new Map<string, string>();

  /**
   * Starts a job, after stopping jobs of the same key have ended and recorded their tasks.
   * @param taskId the service's id of the task that it finishes; null for a request
   */
  start(key: string, work: Work, taskId: string | null = null): Job {
    const stopping = [...this.#running].filter((job) => job.isStopped && job.key === key);
    const starting = async (call: Call) => {
      await Promise.allSettled(stopping.map(({ result }) => result));
      return work(call);
    };
    const job = new Job(key, starting, taskId);
    this.#running.add(job);
    const end = (charged: string | null) => {
      this.#running.delete(job);
      if (charged !== null) this.#charged.set(key, charged);
    };
    job.result.then(
      ({ taskId: savedTaskId }) => end(savedTaskId),
      (error) => end(error instanceof ImggenFailure && isRecorded(error) ? error.taskId : null),
    );
    return job;
  }

  /** The task of an ended job that can be resumed or may have been charged, to any account. */
  chargedTaskId(key: string): string | undefined {
    return this.#charged.get(key);
  }

  findByKey(key: string): Job | undefined {
    return this.all.find((job) => job.key === key);
  }

  /** @param taskId the service's whole id */
  findByTask(taskId: string): Job | undefined {
    return this.all.find((job) => job.taskId === taskId);
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Running jobs that are not being stopped. */
  get all(): Job[] {
    return [...this.#running].filter(({ isStopped }) => !isStopped);
  }

  /** Waits for stopping jobs. */
  async stopped(): Promise<void> {
    await Promise.allSettled([...this.#running].filter((job) => job.isStopped).map(({ result }) => result));
  }
}

/** Whether an equal call continues this task. */
function isRecorded({ resume, charged }: ImggenFailure): boolean {
  return resume !== null || charged !== "no";
}
