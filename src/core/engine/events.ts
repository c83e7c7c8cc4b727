import type { Charged } from "../../lib/error-types.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import type { Waiting } from "../limits/turns.ts";

/** Events of submitting a request, waiting for its task and saving its images, for progress output. */
export type TaskProgressEvent =
  /** A reference image is uploaded by the user's command. `file` is as the user named it. */
  | { type: "uploading"; file: string; bytes: number }
  /** Another process is working on the task that is to be reused. `id`: the service's, or the ledger's own. */
  | { type: "claimed_elsewhere"; id: string }
  /** The task of an earlier run is continued: nothing new is submitted. `charged`: whether it has cost something so far. */
  | { type: "continuing"; taskId: string; charged: Charged }
  /** `taskId`: where the request has an id before it is sent. */
  | { type: "submitting"; taskId?: string }
  /** `why`: a sentence. `isLost`: whether it was sent, and its reply lost; else it was refused for now, or never left. */
  | { type: "submit_retry"; why: string; isLost: boolean; delayMs: number }
  /**
   * A signal came while the submit was in flight. It is waited for so long, in milliseconds; null: to its
   * end, because it is paid for. `taskId`: null where the reply is to bring it.
   */
  | { type: "submit_interrupted"; taskId: string | null; waitMs: number | null }
  /** `request`: which of the task's requests, from 0. */
  | { type: "accepted"; taskId: string; request: number }
  /** `usualMs`: how long such tasks usually take; null if that is not known. */
  | { type: "waiting"; taskId: string; usualMs: number | null }
  /** Facts about a task at the user's generator. */
  | ({ type: "progress"; taskId: string } & ProgressFacts)
  | { type: "poll_failed"; taskId: string; why: string }
  | { type: "downloading"; taskId: string; index: number; count: number }
  /** So many bytes of an image have arrived. Not of every piece: about four times a mebibyte. */
  | { type: "downloaded"; taskId: string; bytes: number }
  | { type: "download_retry"; taskId: string; why: string; delayMs: number }
  | { type: "saved"; taskId: string; file: SavedFile }
  /** The ledger could not take a record; the message holds what must not be lost. */
  | { type: "ledger_warning"; message: string };

export type OnTaskProgress = (event: TaskProgressEvent) => void;

export interface ProgressFacts {
  /** Progress of its image, from 0 to 1; null if unknown. */
  share: number | null;
  /** For whom it waits, before its request is sent; null while it does not. */
  waiting: Waiting | null;
}
