import type { ErrorType, RefusalDetails } from "../lib/error-types.ts";
import type { WholeNumber } from "../lib/exact-integer.ts";
import type { Intent } from "./intent.ts";
import type { SavedFile } from "./saved-file.ts";

/** Cost and tokens as the provider reports them. */
export type Usage = Readonly<Record<string, unknown>>;

/** Seeds of a request's images in order, null if unknown. A single seed applies to all images. */
export type Seeds = readonly (WholeNumber | null)[];

export function seedAt(seeds: Seeds | undefined, at: number): WholeNumber | null {
  return (seeds?.length === 1 ? seeds[0] : seeds?.[at]) ?? null;
}

/** Completion as observed by polls, in milliseconds after acceptance. Null means unknown. */
export interface CompletionTimes {
  seenMs: number | null;
  /** Time of the last poll at which the job was still running. */
  pendingMs: number | null;
}

export const UNKNOWN_TIMES: CompletionTimes = { seenMs: null, pendingMs: null };

interface AttemptRef {
  request: number;
  attempt: string;
}

/** Fields of each line of a task's file, except type and time. Lines are written once and never changed. */
interface LineFields {
  /**
   * First line of a task. With `attempt`, a request is submitted immediately and counts as sent from this line
   * on. With `once`, the task is withdrawn if another task exists for an equal request.
   */
  intent: { v: number; id?: string; holder: string; attempt?: string; claim?: string; once?: true } & Intent;
  /** First line of a further part, written at a takeover. */
  taken: { holder: string };
  /** Last line of a process, which releases the task. */
  released: Record<never, never>;
  /** Written before the request is sent, which counts as sent from this line on. */
  started: AttemptRef;
  /** The attempt was rejected or not sent, and the request waits for another attempt. */
  waiting: { why: string } & AttemptRef;
  not_sent: { why: string; request: number };
  /** `hint` is a `Wording` that its reader validates. The line is valid without a hint. */
  refused: {
    error: { type: ErrorType; key: string | null; message: string; hint?: unknown } & RefusalDetails;
  } & AttemptRef;
  /**
   * Sent, but the reply is lost or unusable. `unusable` corrects an earlier `accepted` or `completed` line: the
   * provider no longer has the job, or its output is not an image.
   */
  unknown: { why: string; excerpt?: string; kept?: string; unusable?: true } & AttemptRef;
  accepted: { taskId: string } & AttemptRef;
  /** The provider no longer has the job or its images. The task stays open until the user decides. */
  gone: { why: string } & AttemptRef;
  /**
   * The image exists at the URLs, or in the attempt's folder if there are no URLs. `kept` is a reply stored
   * elsewhere.
   */
  completed: { urls: string[]; usage?: Usage; kept?: string; seeds?: Seeds } & CompletionTimes & AttemptRef;
  /** `why` is the provider's message. `charged` is present only if it is certain. */
  failed: { errorCode: string | null; why?: string; charged?: "no" } & AttemptRef;
  /** The user stopped tracking a task of unknown outcome. `replacement` is the task submitted in its place. */
  dismissed: { why: string; replacement: string | null };
  /** One entry per image, null if missing. The first image of each request comes first. */
  partly_saved: { files: (SavedFile | null)[] };
  /** Entries as in `partly_saved`, but null means that the image will never exist. */
  saved: { files: (SavedFile | null)[] };
}

export type LineType = keyof LineFields;

export type Line<Type extends LineType = LineType> = {
  [Each in Type]: { type: Each; at: string } & LineFields[Each];
}[Type];

export type Answer = Line<"waiting" | "refused" | "unknown" | "accepted" | "completed" | "failed">;
