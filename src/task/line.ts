import type { ErrorType, RefusalDetails } from "../lib/error-types.ts";
import type { WholeNumber } from "../lib/exact-integer.ts";
import type { Intent } from "./intent.ts";
import type { SavedFile } from "./saved-file.ts";

/** Cost and tokens, in the provider's own words. */
export type Usage = Readonly<Record<string, unknown>>;

/** Seeds of a request's images in their order, null for one that is not known; a single one is that of all images. */
export type Seeds = readonly (WholeNumber | null)[];

/** The seed of one image of a request, by its position; null if it is not known. */
export function seedAt(seeds: Seeds | undefined, at: number): WholeNumber | null {
  return (seeds?.length === 1 ? seeds[0] : seeds?.[at]) ?? null;
}

/** When a task was seen to complete, in milliseconds from its acceptance; null if unknown. */
export interface CompletionTimes {
  seenMs: number | null;
  /** Age at the last poll that still saw it running. */
  pendingMs: number | null;
}

export const NEVER_SEEN: CompletionTimes = { seenMs: null, pendingMs: null };

/** Which request of a task a line is about, from 0, and which attempt to submit it the line answers. */
interface OfAttempt {
  request: number;
  attempt: string;
}

/** What each line of a task's file holds beside its type and time. Each is written once and never changed. */
interface Facts {
  /**
   * First line of the first part. `holder`: mark of the process that began the task. `attempt`: a request that is
   * submitted at once counts as sent from here on. `claim`: the claim of the batch row that the task is for.
   * `once`: whether the task is withdrawn if another one answers for its request.
   */
  intent: { v: number; id?: string; holder: string; attempt?: string; claim?: string; once?: true } & Intent;
  /** First line of a further part: another process has taken the task over. */
  taken: { holder: string };
  /** Last line of a holder: the task is free for the next one. */
  released: Record<never, never>;
  /** On disk before the request is sent: from here on it counts as sent. */
  started: OfAttempt;
  /** The attempt was not taken, or never left this machine: the request waits to be sent again. */
  waiting: { why: string } & OfAttempt;
  /** The request will not be sent. */
  not_sent: { why: string; request: number };
  /** `hint`: a `Wording`, which each face puts into words. It is checked where it is read: without it the line still counts. */
  refused: {
    error: { type: ErrorType; key: string | null; message: string; hint?: unknown } & RefusalDetails;
  } & OfAttempt;
  /**
   * It was sent, and its reply was lost or cannot be used. `excerpt`: the reply's beginning, the API key masked. `unusable`: it
   * was recorded as accepted or completed before, and its provider no longer has the job, or what it made is no image.
   */
  unknown: { why: string; excerpt?: string; kept?: string; unusable?: true } & OfAttempt;
  accepted: { taskId: string } & OfAttempt;
  /** The provider no longer knows the job, or no longer has its images. It is no end: the user decides. */
  gone: { why: string } & OfAttempt;
  /**
   * The image exists: at URLs, or without any in the attempt's folder. `kept`: the file of the reply, if it is elsewhere.
   * `seeds`: as the provider reports them; absent if it does not.
   */
  completed: { urls: string[]; usage?: Usage; kept?: string; seeds?: Seeds } & CompletionTimes & OfAttempt;
  /** `why`: the provider's words. `charged`: what is known for certain. */
  failed: { errorCode: string | null; why?: string; charged?: "no" } & OfAttempt;
  /** The user has stopped tracking what is unknown. `replacement`: the task that was submitted in its place. */
  dismissed: { why: string; replacement: string | null };
  /** One entry per image, those of the requests first; null for an image that is missing. */
  partly_saved: { files: (SavedFile | null)[] };
  /** As of `partly_saved`; null for an image that is not to come. */
  saved: { files: (SavedFile | null)[] };
}

export type LineType = keyof Facts;

/** One line of a task's file. */
export type Line<Type extends LineType = LineType> = {
  [Each in Type]: { type: Each; at: string } & Facts[Each];
}[Type];

/** A line that answers an attempt to submit a request. */
export type Answer = Line<"waiting" | "refused" | "unknown" | "accepted" | "completed" | "failed">;
