import { ImggenFailure } from "../client/report-json.ts";
import type { TaskSuccess } from "../client/results.ts";
import type { OnTaskProgress, TaskProgressEvent } from "../core/engine/events.ts";
import { InterruptedError } from "../lib/interrupted.ts";

/** One call of a tool. */
export interface Call {
  /** Aborts where the client has cancelled the call. */
  signal: AbortSignal;
  onProgress: OnTaskProgress;
}

/** What a job does. @throws ImggenFailure */
type Work = (call: Call) => Promise<TaskSuccess>;

/**
 * One running request or task. It outlasts the call that began it: the image is saved even if the client never asks again.
 * It is stopped only where each of its calls was cancelled, and none of them was answered before.
 */
export class Job {
  /** What was asked for: the same request again is the same job. */
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
    // Every call that waits for it gets the error; there may be none, and that must not end the program.
    this.result.catch(() => {});
  }

  /** The service's id; null until the task is accepted. */
  get taskId(): string | null {
    return this.#taskId;
  }

  /** An id by which the ledger finds its task; null until it has it. */
  get recordId(): string | null {
    return this.#recordId ?? this.#taskId;
  }

  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** A call waits for it. @returns what ends the waiting, where the call was answered */
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
   * Begins a job, once those of the same key that are being stopped have ended: their tasks are then found.
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
      ({ taskId: saved }) => end(saved),
      (error) => end(error instanceof ImggenFailure && isKept(error) ? error.taskId : null),
    );
    return job;
  }

  /** The task of an ended job that can be resumed or may have been charged, whichever account it was charged to. */
  chargedWithKey(key: string): string | undefined {
    return this.#charged.get(key);
  }

  withKey(key: string): Job | undefined {
    return this.all.find((job) => job.key === key);
  }

  /** @param taskId the service's whole id */
  ofTask(taskId: string): Job | undefined {
    return this.all.find((job) => job.taskId === taskId);
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Those that are not being stopped. */
  get all(): Job[] {
    return [...this.#running].filter(({ isStopped }) => !isStopped);
  }

  /** Resolves once those that are being stopped have ended. */
  async stopped(): Promise<void> {
    await Promise.allSettled([...this.#running].filter((job) => job.isStopped).map(({ result }) => result));
  }
}

/** Whether the same call again is about the same task, and no new one. */
function isKept({ resume, charged }: ImggenFailure): boolean {
  return resume !== null || charged !== "no";
}
