import type { Charged } from "../../lib/error-types.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import type { Waiting } from "../limits/turns.ts";

/** Events of submitting a request, waiting for its task and saving its images, for progress output. */
export type TaskProgressEvent =
  /** A reference image is uploaded. `file`: name as typed by the user. */
  | { type: "uploading"; file: string; bytes: number }
  /** Another process is working on the task to reuse. `id`: the service's id, or the ledger's id if unknown. */
  | { type: "claimed_elsewhere"; id: string }
  /** The task of an earlier run is continued instead of a new submit. `charged`: charge of the task so far. */
  | { type: "continuing"; taskId: string; charged: Charged }
  /** A task is in the ledger, and this process works on it. `taskId`: null until the service returns an id. */
  | { type: "recorded"; id: string; taskId: string | null }
  /** `taskId`: absent if the request has no id before the submit. */
  | { type: "submitting"; taskId?: string }
  /** `why`: a sentence. `isLost`: whether the reply was lost; otherwise the request was rate limited or not sent. */
  | { type: "submit_retry"; why: string; isLost: boolean; delayMs: number }
  /**
   * A signal arrived while a request was in flight. `waitMs`: grace period; null for a paid request, whose reply is
   * awaited without a limit. `taskId`: null if only the reply will contain the id.
   */
  | { type: "submit_interrupted"; taskId: string | null; waitMs: number | null }
  /** `request`: index of the request in its task, from 0. */
  | { type: "accepted"; taskId: string; request: number }
  /** `usualMs`: usual duration of similar tasks; null if unknown. */
  | { type: "waiting"; taskId: string; usualMs: number | null }
  /** Progress of a request at the user's generator. `request`: index of the request in its task, from 0. */
  | ({ type: "progress"; taskId: string; request: number } & ProgressFacts)
  | { type: "poll_failed"; taskId: string; why: string }
  | { type: "downloading"; taskId: string; index: number; count: number }
  /** `bytes`: number of bytes of an image that have arrived. Emitted about four times per mebibyte. */
  | { type: "downloaded"; taskId: string; bytes: number }
  | { type: "download_retry"; taskId: string; why: string; delayMs: number }
  | { type: "saved"; taskId: string; file: SavedFile }
  /** The ledger could not be written. The message contains facts that must not be lost, such as a task id. */
  | { type: "ledger_warning"; message: string };

export type OnTaskProgress = (event: TaskProgressEvent) => void;

export interface ProgressFacts {
  /** Progress of the request's image, from 0 to 1; null if unknown. */
  share: number | null;
  /** Reason for a wait before the submit; null if the request does not wait. */
  waiting: Waiting | null;
}
