import type { QueueFacts } from "../../providers/service/schema.ts";
import type { SavedFile } from "../../task/saved-file.ts";

/** What happens while a request is submitted, its task awaited and its images saved, for progress output. */
export type TaskProgressEvent =
  /** A reference image is uploaded by the user's command. `file` is as the user named it. */
  | { type: "uploading"; file: string; bytes: number }
  /** Another process is working on the task that is to be reused. `id`: the service's, or the ledger's own. */
  | { type: "claimed_elsewhere"; id: string }
  /** A task of an earlier run is continued, so that nothing is submitted. */
  | { type: "continuing"; taskId: string }
  | { type: "submitting" }
  | { type: "submit_retry"; why: string; delayMs: number }
  /** A signal came while the reply to the submit was under way; its id is waited for, for a while. */
  | { type: "submit_interrupted"; waitMs: number }
  | { type: "accepted"; taskId: string }
  /** `usualMs`: how long such tasks usually take; null if that is not known. */
  | { type: "waiting"; taskId: string; usualMs: number | null }
  /** What the queue before the user's own generator says of the task. */
  | ({ type: "progress"; taskId: string } & QueueFacts)
  | { type: "poll_failed"; taskId: string; why: string }
  | { type: "downloading"; taskId: string; index: number; count: number }
  /** So many bytes of an image have arrived. Not of every piece: about four times a mebibyte. */
  | { type: "downloaded"; taskId: string; bytes: number }
  | { type: "download_retry"; taskId: string; why: string; delayMs: number }
  | { type: "saved"; taskId: string; file: SavedFile }
  /** The ledger could not take a record; the message holds what must not be lost. */
  | { type: "ledger_warning"; message: string };

export type OnTaskProgress = (event: TaskProgressEvent) => void;

/** What the queue before the user's own generator says of a task, as a sentence. */
export function progressText({ isWaiting, ahead, share, why }: QueueFacts): string {
  if (why !== null) return why;
  if (isWaiting)
    return ahead === null ? "waiting for its turn." : `waiting for its turn, ${tasksAhead(ahead)}.`;
  return share === null ? "generating." : `generating, ${percent(share)}.`;
}

/** `2 tasks before it` */
export function tasksAhead(count: number): string {
  return count === 1 ? "1 task before it" : `${count} tasks before it`;
}

/** `40%` @param share from 0 to 1 */
export function percent(share: number): string {
  return `${Math.round(100 * Math.min(share, 1))}%`;
}
