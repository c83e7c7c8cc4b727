import type { ImggenError, RefusalDetails } from "../lib/error-types.ts";
import type { WholeNumber } from "../lib/exact-integer.ts";
import type { Wording } from "../lib/wording.ts";
import type { JobOptions } from "../task/intent.ts";
import type { Seeds, Usage } from "../task/line.ts";
import type { GenerationRequest } from "../task/request.ts";
import type { FieldName } from "../task/request-fields.ts";

/** Input of one request to a provider. */
export interface Job {
  /** The only part of the job that is sent to the hosted service. */
  request: GenerationRequest;
  /** imggen's task id. Paid providers get the id as `X-Client-Request-Id`, so that the user can find the request. */
  taskId: string;
  /** Index of the request in its task, from 0. */
  index: number;
  /** Whether the request might cost money, as recorded in the task's intent. */
  isPaid: boolean;
  options: JobOptions;
  references: readonly Reference[];
  /** Existing private folder for the replies to this request. The engine, not the provider, removes the folder. */
  folder: string;
  /** Files that can store the reply if the disk of `folder` is full, in order of preference. Default: no files. */
  fallbackFiles?: readonly string[] | undefined;
}

export type CheckedJob = Omit<Job, "folder" | "taskId" | "index">;

export type Reference = { file: string; mediaType: string } | { url: string };

export interface SubmitOptions {
  /** Aborts the request. The bytes that have arrived are stored, and are used if the reply is complete. */
  signal: AbortSignal;
  /** Called just before the request can reach the provider. */
  onSent: () => void;
  /** Called with the progress from 0 to 1, if the provider reports it. */
  onProgress: (share: number) => void;
  /** Called with the bytes of each preview frame, before validation. Absent: no preview frames are requested. */
  onPreview?: ((image: Buffer) => void) | undefined;
  onWarning?: ((message: string) => void) | undefined;
  /** Called with a warning if no disk can store a paid reply, because the reply is lost if the process exits. */
  onUnstored?: ((message: string) => void) | undefined;
}

/** Reason why a request is not sent yet. */
export interface Waiting {
  ahead: number;
  /** Process or request that has the turn, such as "another imggen process, pid 4711". */
  holder: string;
}

export type FollowOptions = Pick<SubmitOptions, "signal" | "onProgress" | "onPreview">;

/** Result of one submit. Only a request with the outcome `accepted`, `made` or `unknown` might have been charged. */
export type SubmitReply =
  /** The provider accepted the request. `taskId`: id of the job at the provider, for polling. */
  | { outcome: "accepted"; taskId: string }
  /** The reply with the image or its URL is stored in the job's folder, or in the fallback file `savedPath`. */
  | { outcome: "made"; usage: Usage | null; savedPath?: string | undefined; seeds?: Seeds | undefined }
  | { outcome: "refused"; error: ImggenError }
  /** `isStarting`: the provider is a free server that is not ready, so the run waits until the user's deadline. */
  | { outcome: "rate_limited"; retryAfterMs: number | null; error: ImggenError; isStarting?: true }
  /** The request did not reach the provider. `error`: error for the user; default: created from `cause`. */
  | { outcome: "not_sent"; cause: unknown; error?: ImggenError }
  | UnknownReply;

export interface UnknownReply {
  outcome: "unknown";
  /** Reason as a clause, without a full stop. */
  why: string;
  /** Start of the unusable reply, or null if there was no reply. */
  excerpt: string | null;
  savedPath?: string | null;
  /** Whether the provider has certainly stopped the work. */
  isStopped?: boolean;
  /** Whether `recover` can find the outcome later. */
  isAskable?: boolean;
  cause?: unknown;
}

export type PolledState =
  /** `ahead`: number of jobs before this job, if known. `isWaiting`: the provider has not begun this job. */
  | { status: "running"; providerState: string | null; ahead?: number; share?: number; isWaiting?: true }
  | FinishedState
  /** `why`: the provider's message. `charged`: `no` if the job was certainly not charged. */
  | { status: "failed"; errorCode: string | null; why?: string; charged?: "no" };

export interface FinishedState {
  status: "completed";
  /** http(s) URLs of the images. Empty if an image has no such URL or its URL contains the key. */
  urls: string[];
  usage?: Usage;
  seeds?: Seeds;
  /** Sentences about the images. Images with warnings are saved too. */
  warnings?: readonly string[];
  /** File with the reply, read by `images`. Set only if `urls` is empty and `keepsReply` is set. */
  reply?: string;
}

export interface PollOptions {
  /** The submitted job. If the user gave only an id, the request is empty and the folder might not exist. */
  job: Job;
  /** Whether to store a reply in the job's folder if `images` must read it. Default: false. */
  keepsReply?: boolean | undefined;
  timeoutMs?: number | undefined;
  signal: AbortSignal;
}

export type PollReply =
  | { outcome: "state"; task: PolledState }
  | { outcome: "refused"; error: ImggenError }
  | FailedPoll;

/** Result of a poll without a usable reply. The poll is safe to repeat. */
export interface FailedPoll {
  outcome: "retry";
  why: string;
  rateLimited: boolean;
  retryAfterMs: number | null;
  /** The network error if no reply arrived, otherwise null. */
  connectionError: Error | null;
  /**
   * The reply contains no state, or reports that the job does not exist. The job nevertheless counts as unfinished,
   * because a proxy might have sent the reply, and some services find a job only a moment after its submit.
   */
  isMissing?: true;
}

export type MadeImage =
  | { kind: "bytes"; bytes: Buffer }
  /** A file in the job's folder. `isExtra`: the image was not requested, so it is not saved as an output. */
  | { kind: "file"; file: string; isExtra?: boolean }
  /** An absolute URL. `headers` are sent only to the URL's origin, and never to the target of a redirect. */
  | { kind: "url"; url: string; headers?: Readonly<Record<string, string>> };

/** A request for display by `--dry-run`, with names in place of files and without a key. */
export type SentRequest =
  /** `url`: without a query. `workflow`: a line for each value that imggen sets in the workflow. */
  { method: "POST"; url: string; body: unknown; workflow?: string[] } | { command: readonly string[] };

export interface Prepared {
  /** Whether the workflow costs money. A workflow at a local address can cost money too. */
  isPaid: boolean;
  workflow?: string;
}

/** Interface of all providers of images. `submit` never repeats a request that might have been charged. */
export interface Provider {
  readonly version: 1;
  readonly limits: {
    /** Maximum number of requests in flight from all processes that share a ledger, or null for no limit. */
    concurrency: number | null;
    /** Time limit of a submit in milliseconds, from the connection to the arrival of the job's id or the image. */
    submitMs: number;
  };
  /** Fields that the provider sends, refuses in `check`, or omits with a warning. All other fields are refused. */
  readonly supports: readonly FieldName[];
  /**
   * Reads the workflow for new requests, and checks with a free request whether the workflow costs money.
   * @param signal null: no request is sent to the provider
   * @throws ProviderError or UsageError if no request can be sent
   */
  prepare?(signal: AbortSignal | null): Promise<Prepared>;
  /** Whether a request without a ratio has the size of its first reference image. Absent: no. */
  readonly isSizedByReference?: true;
  /** Returns a sentence about an unsupported option, or null. Called before a task begins. */
  check?(job: CheckedJob): string | null;
  /** Returns the seed to send, from the user or imggen, or null if the provider chooses a seed. Never throws. */
  getSeed?(job: Job): WholeNumber | null;
  /** Returns the request that `submit` would send. Opens no connection. @throws ProviderError */
  describe?(job: Job): Promise<SentRequest>;
  /** Sends the request. Of all functions of a provider, only `submit` can cost money. Never throws. */
  submit(job: Job, options: SubmitOptions): Promise<SubmitReply>;
  /** Polls an accepted task once, which is free. Never throws. Absent: the provider does not return job ids. */
  poll?(taskId: string, options: PollOptions): Promise<PollReply>;
  /** Reports a task's progress until the signal aborts. Never throws. @returns whether the task certainly ended */
  follow?(taskId: string, options: FollowOptions): Promise<boolean>;
  /**
   * Finds the outcome of a request whose process ended, in the stored reply or in the provider's record.
   * Sends only free requests, and never throws. @returns null if the outcome is unknown
   */
  recover?(job: Job, options: Omit<SubmitOptions, "onSent">): Promise<SubmitReply | null>;
  /** Whether the provider works on a request of an ended process. Has no side effects. Never throws. Absent: no. */
  isAtWork?(job: Job, signal: AbortSignal): Promise<boolean>;
  /**
   * Reads the images of a `made` request, or of a stored result, from the job's folder.
   * @throws ProviderError if the reply has no images, Error if a file no longer exists
   */
  images?(job: Job): Promise<MadeImage[]>;
  /**
   * Cancels an accepted task. @throws AuthRequiredError if the key is missing or refused
   * @returns whether the provider confirmed the cancellation, or null if the provider did not reply
   */
  cancel?(taskId: string, signal: AbortSignal): Promise<boolean | null>;
  /** Headers with the key, for downloads from the provider's origin only. Absent: downloads need no key. */
  readonly downloadHeaders?: Readonly<Record<string, string>> | undefined;
  /** Returns the names of the models, or null if the provider has no list. @throws ProviderError */
  models?(signal: AbortSignal): Promise<string[] | null>;
  /** Returns the model of requests without a model, or null if unknown. Never throws. Absent: a model is required. */
  loadedModel?(signal: AbortSignal): Promise<string | null>;
  close(): Promise<void>;
}

/** Cause of a failed request. `failures.ts` maps each cause to the result for the task, the run and the charge. */
export type Failure =
  /** The request was certainly not sent. */
  | { kind: "unsent" }
  /** The request was certainly not sent, because the disk cannot store a reply. */
  | { kind: "disk" }
  /** The provider refused the account's key, credit or limit. Every request fails until the user acts. */
  | { kind: "account"; key: "login_required" | "my_credits.no_credits_description" }
  /** No image was made. imggen can repeat the request after `retryAfterMs`. */
  | { kind: "busy"; retryAfterMs: number | null; isStarting?: true }
  /** The request is invalid, for example because its model is unknown or a field is unsupported. */
  | { kind: "invalid" }
  /** The provider refused to make this image, or was unable to make it. */
  | { kind: "refused" }
  /** No image arrived, but the request might have been charged. */
  | {
      kind: "lost";
      savedPath?: string | null;
      excerpt?: string | null;
      isStopped?: boolean;
      isAskable?: boolean;
    };

interface ProviderErrorOptions extends ErrorOptions {
  hint?: Wording;
  details?: RefusalDetails | undefined;
}

/** Error of a failed request. `submit` and `poll` return this error in their reply, and never throw it. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";
  readonly failure: Failure;
  readonly hint: Wording | undefined;
  readonly details: RefusalDetails | undefined;

  constructor(message: string, failure: Failure, options: ProviderErrorOptions = {}) {
    super(message, options);
    this.failure = failure;
    this.hint = options.hint;
    this.details = options.details;
  }
}

/** Creates the error for a request that was not sent, because a part of it is unusable or unsupported. */
export function unsendable(message: string, options: ErrorOptions & { hint?: Wording } = {}): ProviderError {
  return new ProviderError(
    message,
    { kind: "invalid" },
    { hint: "Nothing was sent or charged.", ...options },
  );
}

/** Reason with which a job's signal aborts after the job's time limit. */
export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError";
}
