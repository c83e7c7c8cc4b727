import type { ImggenError } from "../../lib/error-types.ts";
import type { Waiting } from "../../providers/provider.ts";
import { displayId, isOnlyGoneOrUnknown, openTaskState, type Task } from "../../task/task.ts";
import type { ClaimedTask } from "./claimed-task.ts";
import type { TaskProgressEvent } from "./events.ts";

/** A task of a runner, with facts that the task's file does not contain. */
export interface RunnerTask {
  /** The task as last read from its file. */
  readonly task: Task;
  readonly isEnded: boolean;
  /** Whether a request of the task is in flight or accepted. */
  readonly isSubmitted: boolean;
  /** Progress of the task's images, from 0 to 1; null if unknown. */
  readonly share: number | null;
  /** Reason why the task waits; null if the task does not wait or the reason is unknown. */
  readonly waiting: Waiting | null;
  readonly error: ImggenError | null;
  /** Warnings of all runs of the task, for example that a part of the request was not sent. */
  readonly warnings: ReadonlySet<string>;
}

/** Whether a task needs no more work. The user might still have to decide about an unknown outcome. */
export function isAtEnd(task: Task): boolean {
  const currentState = openTaskState(task);
  return currentState === null || currentState === "unknown" || isOnlyGoneOrUnknown(task);
}

export class QueuedTask implements RunnerTask {
  /** The id that users see. */
  readonly name: string;
  task: Task;
  isEnded = false;
  isSubmitted = false;
  isAccepted = false;
  waiting: Waiting | null = null;
  error: ImggenError | null = null;
  readonly warnings = new Set<string>();
  run: Promise<void> | null = null;
  /** Aborted while requests of the task must not be submitted. */
  pause = new AbortController();
  /** Reason why the unsent requests must end; null if they need not end. */
  dropReason: string | null = null;
  failures = 0;
  /** Earliest time of the next run, on the monotonic clock. */
  notBeforeMs = 0;
  onQueued = () => {};
  claimedTask: Pick<ClaimedTask, "task"> | null = null;
  readonly #shares = new Map<number, number>();

  constructor(task: Task) {
    this.task = task;
    this.name = displayId(task);
  }

  get share(): number | null {
    if (this.#shares.size === 0) return null;
    const { requests } = (this.claimedTask ?? this).task;
    const shares = requests.map(({ state }, at) => (state === "completed" ? 1 : (this.#shares.get(at) ?? 0)));
    return shares.reduce((sum, share) => sum + share, 0) / requests.length;
  }

  get isIdle(): boolean {
    return this.run === null;
  }

  /** Whether a run would have work to do. In a paused task, only submitted requests count as work. */
  get hasWork(): boolean {
    const { requests } = this.task;
    return (
      !this.pause.signal.aborted ||
      requests.some(({ state, possibleSubmits }) => state !== "waiting" || possibleSubmits > 0)
    );
  }

  handleEvent(event: TaskProgressEvent): void {
    switch (event.type) {
      case "submitting":
        this.isSubmitted = true;
        this.waiting = null;
        this.onQueued();
        break;
      case "waiting":
        this.isSubmitted = true;
        this.isAccepted = true;
        this.waiting = null;
        this.onQueued();
        break;
      case "submit_retry":
        this.isSubmitted = false;
        this.#shares.clear();
        break;
      case "progress":
        this.waiting = event.waiting;
        if (event.share !== null) this.#shares.set(event.request, event.share);
        this.onQueued();
        break;
      default:
    }
  }

  reset(): void {
    this.run = null;
    this.claimedTask = null;
    this.isSubmitted = false;
    this.isAccepted = false;
    this.#shares.clear();
    this.waiting = null;
    this.onQueued();
  }
}
