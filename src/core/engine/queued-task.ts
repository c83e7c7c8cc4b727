import type { ImggenError } from "../../lib/error-types.ts";
import type { Waiting } from "../../providers/provider.ts";
import { displayId, isAllGone, openTaskState, type Task } from "../../task/task.ts";
import type { TaskProgressEvent } from "./events.ts";

/** A task that a runner has, and what its file does not say. */
export interface RunnerTask {
  /** As its file said when it was last read. */
  readonly task: Task;
  readonly isEnded: boolean;
  /** Whether a request of it is in flight, or accepted. */
  readonly isSubmitted: boolean;
  /** Progress of its image, from 0 to 1; null if unknown. */
  readonly share: number | null;
  /** What it waits for; null if it does not, or that is not known. */
  readonly waiting: Waiting | null;
  /** Why its last run has left it unfinished; null for none. */
  readonly error: ImggenError | null;
}

/** Whether nothing is left to do for a task, or only for the user. */
export function isAtEnd(task: Task): boolean {
  const word = openTaskState(task);
  return word === null || word === "unknown" || isAllGone(task);
}

/** A task of a runner, and where its run stands. */
export class QueuedTask implements RunnerTask {
  /** The id that users know. */
  readonly name: string;
  task: Task;
  isEnded = false;
  isSubmitted = false;
  isAccepted = false;
  share: number | null = null;
  waiting: Waiting | null = null;
  error: ImggenError | null = null;
  /** Work on it at present, if only a wait for its turn. */
  run: Promise<void> | null = null;
  /** Aborts while nothing more of it is to be submitted. */
  pause = new AbortController();
  /** Why what was not submitted of it is to be ended; null if it is not. */
  dropped: string | null = null;
  failures = 0;
  /** Earliest time of its next run, by the monotonic clock. */
  notBeforeMs = 0;
  onQueued = () => {};

  constructor(task: Task) {
    this.task = task;
    this.name = displayId(task);
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
        this.share = null;
        break;
      case "progress":
        this.waiting = event.waiting;
        this.share = event.share ?? this.share;
        this.onQueued();
        break;
      default:
    }
  }

  /** Its run is over. */
  rest(): void {
    this.run = null;
    this.isSubmitted = false;
    this.isAccepted = false;
    this.share = null;
    this.waiting = null;
    this.onQueued();
  }
}
