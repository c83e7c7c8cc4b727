import type { ErrorType, RefusalDetails } from "../lib/error-types.ts";
import type { WholeNumber } from "../lib/exact-integer.ts";
import type { Intent } from "./intent.ts";
import type { SavedFile } from "./saved-file.ts";

/** Cost and tokens, in the provider's own words. */
export type Usage = Readonly<Record<string, unknown>>;

/** Seeds of a request's images in order, null if unknown; a single one applies to all images. */
export type Seeds = readonly (WholeNumber | null)[];

/** null: unknown. */
export function seedAt(seeds: Seeds | undefined, at: number): WholeNumber | null {
  return (seeds?.length === 1 ? seeds[0] : seeds?.[at]) ?? null;
}

/** Observed time of completion, in milliseconds from acceptance; null if unknown. */
export interface CompletionTimes {
  seenMs: number | null;
  /** Age at the last poll that still saw it running. */
  pendingMs: number | null;
}

export const NEVER_SEEN: CompletionTimes = { seenMs: null, pendingMs: null };

/** The request (from 0) and the attempt that a line refers to. */
interface AttemptRef {
  request: number;
  attempt: string;
}

/** The fields of each line of a task's file, except type and time. Lines are written once and never changed. */
interface LineFields {
  /**
   * First line of the first part. `holder`: mark of the process that began the task. `attempt`: a request that is
   * submitted immediately and counts as sent from now on. `claim`: the claim of the batch row. `once`: whether the
   * task is withdrawn if another one answers for its request.
   */
  intent: { v: number; id?: string; holder: string; attempt?: string; claim?: string; once?: true } & Intent;
  /** First line of a further part, after a takeover. */
  taken: { holder: string };
  /** Last line of a holder: the task is free. */
  released: Record<never, never>;
  /** On disk before the request is sent, which counts as sent from now on. */
  started: AttemptRef;
  /** The attempt was rejected, or never sent: the request waits for another attempt. */
  waiting: { why: string } & AttemptRef;
  /** The request will not be sent. */
  not_sent: { why: string; request: number };
  /** `hint`: a `Wording`, which each face puts into words. It is checked where it is read: without it the line still counts. */
  refused: {
    error: { type: ErrorType; key: string | null; message: string; hint?: unknown } & RefusalDetails;
  } & AttemptRef;
  /**
   * Sent, with a lost or unusable reply. `excerpt`: the beginning of the reply, with the API key masked. `unusable`:
   * it was recorded as accepted or completed before, and its provider no longer has the job, or its output is not an
   * image.
   */
  unknown: { why: string; excerpt?: string; kept?: string; unusable?: true } & AttemptRef;
  accepted: { taskId: string } & AttemptRef;
  /** The provider no longer has the job or its images. Not a final state: the user decides. */
  gone: { why: string } & AttemptRef;
  /**
   * The image exists: at URLs, or without URLs in the attempt's folder. `kept`: the file of the reply, if it is
   * elsewhere. `seeds`: as reported by the provider; absent if unknown.
   */
  completed: { urls: string[]; usage?: Usage; kept?: string; seeds?: Seeds } & CompletionTimes & AttemptRef;
  /** `why`: the provider's message. `charged`: only if certain. */
  failed: { errorCode: string | null; why?: string; charged?: "no" } & AttemptRef;
  /** The user has stopped tracking a task with an unknown outcome. `replacement`: the task submitted in its place. */
  dismissed: { why: string; replacement: string | null };
  /** One entry per image, the first image of each request first; null: missing. */
  partly_saved: { files: (SavedFile | null)[] };
  /** As `partly_saved`; null: no such image will come. */
  saved: { files: (SavedFile | null)[] };
}

export type LineType = keyof LineFields;

/** One line of a task's file. */
export type Line<Type extends LineType = LineType> = {
  [Each in Type]: { type: Each; at: string } & LineFields[Each];
}[Type];

/** The outcome of an attempt. */
export type Answer = Line<"waiting" | "refused" | "unknown" | "accepted" | "completed" | "failed">;
