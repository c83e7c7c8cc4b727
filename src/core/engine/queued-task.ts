import type { ImggenError } from "../../lib/error-types.ts";
import type { Waiting } from "../../providers/provider.ts";
import { displayId, isAllGone, openTaskState, type Task } from "../../task/task.ts";
import type { TaskProgressEvent } from "./events.ts";
import type { HeldTask } from "./held.ts";

/** A task that a runner has, and what its file does not say. */
export interface RunnerTask {
  /** As its file said when it was last read. */
  readonly task: Task;
  readonly isEnded: boolean;
  /** Whether a request of it is in flight, or accepted. */
  readonly isSubmitted: boolean;
  /** Progress of its images, from 0 to 1; null if unknown. */
  readonly share: number | null;
  /** Reason for its wait; null if it does not wait, or the reason is unknown. */
  readonly waiting: Waiting | null;
  /** Error of its last run that left it unfinished; null for none. */
  readonly error: ImggenError | null;
  /** Sentences of its runs about its images: a part of the request that was not sent, for one. */
  readonly warnings: ReadonlySet<string>;
}

/** Whether nothing is left to do for a task, or only for the user. */
export function isAtEnd(task: Task): boolean {
  const currentState = openTaskState(task);
  return currentState === null || currentState === "unknown" || isAllGone(task);
}

/** A task of a runner, and where its run stands. */
export class QueuedTask implements RunnerTask {
  /** The id that users know. */
  readonly name: string;
  task: Task;
  isEnded = false;
  isSubmitted = false;
  isAccepted = false;
  waiting: Waiting | null = null;
  error: ImggenError | null = null;
  readonly warnings = new Set<string>();
  /** Work on it at present, if only a wait for its turn. */
  run: Promise<void> | null = null;
  /** Aborts while nothing more of it is to be submitted. */
  pause = new AbortController();
  /** Reason to end its unsubmitted requests; null for none. */
  dropped: string | null = null;
  failures = 0;
  /** Earliest time of its next run, by the monotonic clock. */
  notBeforeMs = 0;
  onQueued = () => {};
  /** The task as its run has it by now; null if none runs. */
  held: Pick<HeldTask, "task"> | null = null;
  /** Progress of its requests, by their numbers. */
  readonly #shares = new Map<number, number>();

  constructor(task: Task) {
    this.task = task;
    this.name = displayId(task);
  }

  get share(): number | null {
    if (this.#shares.size === 0) return null;
    const { requests } = (this.held ?? this).task;
    const done = requests.map(({ state }, at) => (state === "completed" ? 1 : (this.#shares.get(at) ?? 0)));
    return done.reduce((sum, share) => sum + share, 0) / requests.length;
  }

  get isIdle(): boolean {
    return this.run === null;
  }

  /** Whether a run has something to do for it: while it is paused, only what was submitted. */
  get hasWork(): boolean {
    const { requests } = this.task;
    return (
      !this.pause.signal.aborted || requests.some(({ state, tries }) => state !== "waiting" || tries > 0)
    );
  }

  note(event: TaskProgressEvent): void {
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

  /** Its run is over. */
  rest(): void {
    this.run = null;
    this.held = null;
    this.isSubmitted = false;
    this.isAccepted = false;
    this.#shares.clear();
    this.waiting = null;
    this.onQueued();
  }
}
