import type { ErrorType, RefusalDetails } from "../lib/error-types.ts";
import type { WholeNumber } from "../lib/exact-integer.ts";
import type { Intent } from "./intent.ts";
import type { SavedFile } from "./saved-file.ts";

/** Cost and tokens as the provider reports them. */
export type Usage = Readonly<Record<string, unknown>>;

/** Seeds of a request's images in order; null for an unknown seed. A single seed applies to all images. */
export type Seeds = readonly (WholeNumber | null)[];

export function seedAt(seeds: Seeds | undefined, at: number): WholeNumber | null {
  return (seeds?.length === 1 ? seeds[0] : seeds?.[at]) ?? null;
}

/** Times at which polls observed the completion of a job, in milliseconds after acceptance. Null means unknown. */
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
   * First line of a task. If `attempt` is present, a request is submitted immediately, so it counts as sent from
   * this line on. If `once` is present, the task is withdrawn if another task exists for an equal request.
   */
  intent: { v: number; id?: string; holder: string; attempt?: string; claim?: string; once?: true } & Intent;
  /** First line of a further part, which a process writes when it takes the task over. */
  taken: { holder: string };
  /** Last line of a process, by which the process releases the task. */
  released: Record<never, never>;
  /** Written before a request is sent. From this line on, the request counts as sent. */
  started: AttemptRef;
  /** The attempt was rejected or not sent, and the request waits for another attempt. */
  waiting: { why: string } & AttemptRef;
  not_sent: { why: string; request: number };
  /** `hint` is a `Wording`, which is validated only when it is displayed. A line with an invalid hint is valid. */
  refused: {
    error: { type: ErrorType; key: string | null; message: string; hint?: unknown } & RefusalDetails;
  } & AttemptRef;
  /**
   * The request was sent, but the reply is lost or unusable. `unusable` corrects an earlier `accepted` or `completed`
   * line, because the provider no longer has the job or its output is not an image.
   */
  unknown: { why: string; excerpt?: string; kept?: string; unusable?: true } & AttemptRef;
  accepted: { taskId: string } & AttemptRef;
  /** The provider no longer has the job or its images. The task stays open until the user decides. */
  gone: { why: string } & AttemptRef;
  /**
   * The image exists at the URLs, or in the attempt's folder if there are no URLs. `kept` is the path of a reply that
   * is stored outside this folder.
   */
  completed: { urls: string[]; usage?: Usage; kept?: string; seeds?: Seeds } & CompletionTimes & AttemptRef;
  /** `why` is the provider's message. `charged` is present only if the attempt certainly cost nothing. */
  failed: { errorCode: string | null; why?: string; charged?: "no" } & AttemptRef;
  /** The user stopped tracking a task of unknown outcome. `replacement` is the id of the task submitted instead. */
  dismissed: { why: string; replacement: string | null };
  /**
   * One entry per image, or null if the image is not saved yet or does not exist. `fileIndex` gives the entry of each
   * image. `imageCounts` has one entry per request: the number of images in its reply, or 0 if unknown.
   * Lines of earlier versions have no `imageCounts`.
   */
  partly_saved: { files: (SavedFile | null)[]; imageCounts?: number[] };
  /** Entries as in `partly_saved`, but null means that the image will never exist. */
  saved: { files: (SavedFile | null)[] };
}

export type LineType = keyof LineFields;

export type Line<Type extends LineType = LineType> = {
  [Each in Type]: { type: Each; at: string } & LineFields[Each];
}[Type];

export type Answer = Line<"waiting" | "refused" | "unknown" | "accepted" | "completed" | "failed">;
