import type { TaskProgressEvent } from "../core/engine/events.ts";
import type { Waiting } from "../core/turns/line.ts";
import { type Task, taskIdOf } from "../task/task.ts";

/** A task that a server has before it. */
export interface Entry {
  readonly taskId: string;
  /** As its file said when it was read last. */
  record: Task;
  /** Whether this process is at work on it, if only to wait for its turn. */
  isRunning: boolean;
  /** Whether a request of it is on its way. */
  isSent: boolean;
  /** Whether its provider has it, under an id that is polled. */
  isAwaited: boolean;
  /** How far its image is, from 0 to 1, where the generator says that. */
  share: number | null;
  /** For whom it waits; null while it does not, or that is not known. */
  line: Waiting | null;
  /** How often in a row it came back without a step forward. */
  failures: number;
  /** Not before this time, by the monotonic clock. */
  notBeforeMs: number;
  /** Called when it has its place in the line, or needs none. */
  onPlaced: () => void;
  /** When work on it began, by the monotonic clock. */
  begunMs: number;
}

export function entryOf(record: Task): Entry {
  return {
    taskId: taskIdOf(record) ?? record.id,
    record,
    isRunning: false,
    isSent: false,
    isAwaited: false,
    share: null,
    line: null,
    failures: 0,
    notBeforeMs: 0,
    onPlaced: () => {},
    begunMs: 0,
  };
}

/** What progress says of a task's place and state. */
export function noteProgress(entry: Entry, event: TaskProgressEvent): void {
  switch (event.type) {
    case "submitting":
      Object.assign(entry, { isSent: true, line: null });
      entry.onPlaced();
      break;
    case "waiting":
      Object.assign(entry, { isSent: true, isAwaited: true, line: null });
      entry.onPlaced();
      break;
    case "submit_retry":
      Object.assign(entry, { isSent: false, share: null });
      break;
    case "progress":
      entry.line = event.waiting;
      entry.onPlaced();
      entry.share = event.share ?? entry.share;
      break;
    default:
  }
}
