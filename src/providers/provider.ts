import type { ImggenError, RefusalDetails } from "../lib/error-types.ts";
import type { WholeNumber } from "../lib/exact-integer.ts";
import type { Wording } from "../lib/wording.ts";
import type { JobOptions } from "../task/intent.ts";
import type { Seeds, Usage } from "../task/line.ts";
import type { GenerationRequest } from "../task/request.ts";
import type { FieldName } from "../task/request-fields.ts";

/** Input of one request to a provider. */
export interface Job {
  /** The user's request. The hosted service receives only this. */
  request: GenerationRequest;
  /** imggen's task id. A paid provider receives it as `X-Client-Request-Id`, so that a request can be looked up. */
  taskId: string;
  /** Index of the request in its task, from 0. */
  index: number;
  /** Value stored in the intent, whatever the current settings are. */
  isPaid: boolean;
  /** Options stored in the intent. */
  options: JobOptions;
  references: readonly Reference[];
  /** Existing private folder for the replies to this request. Only the engine removes it. */
  folder: string;
  /** Files for the reply if the disk of `folder` is full, tried in this order. Default: none. */
  fallbackFiles?: readonly string[] | undefined;
}

export type CheckedJob = Omit<Job, "folder" | "taskId" | "index">;

export type Reference = { file: string; mediaType: string } | { url: string };

export interface SubmitHow {
  /** Aborts the request. The reply received by then is stored, and used if it is complete. */
  signal: AbortSignal;
  /** Called just before the request can reach the provider. */
  onSent: () => void;
  /** Called with the progress from 0 to 1, if the provider reports it. */
  onProgress: (share: number) => void;
  /** Called with unchecked bytes of each preview frame. Absent: no previews are requested. */
  onPreview?: ((image: Buffer) => void) | undefined;
  /** Called with a sentence for each part of the request that the model does not support and that is not sent. */
  onWarning?: ((message: string) => void) | undefined;
  /**
   * Called at once with a warning if a paid reply cannot be stored on any disk, because it is lost if the
   * process exits.
   */
  onUnstored?: ((message: string) => void) | undefined;
}

/** Reason for a request to wait before it is sent. */
export interface Waiting {
  ahead: number;
  /** Holder of the turn: "another imggen process, pid 4711", "a request that was given up, for 3 minutes at most". */
  holder: string;
}

export type FollowHow = Pick<SubmitHow, "signal" | "onProgress" | "onPreview">;

/** Result of one submit. Only `accepted`, `made` and `unknown` may have been charged. */
export type SubmitReply =
  /** The provider has the task. `taskId`: the id to poll. */
  | { outcome: "accepted"; taskId: string }
  /**
   * The job's folder contains the image, or a reply with its address; `images` reads it. `savedPath`: the
   * reply's file, if a fallback was used.
   */
  | { outcome: "made"; usage: Usage | null; savedPath?: string | undefined; seeds?: Seeds | undefined }
  | { outcome: "refused"; error: ImggenError }
  /** `isStarting`: a free server that is not ready yet. The run waits for it until the user's deadline. */
  | { outcome: "rate_limited"; retryAfterMs: number | null; error: ImggenError; isStarting?: true }
  /** The request did not reach the provider. `error`: the provider's message, if the cause is not the connection. */
  | { outcome: "not_sent"; cause: unknown; error?: ImggenError }
  | UnknownReply;

/** The request may have been charged. */
export interface UnknownReply {
  outcome: "unknown";
  /** Reason as a clause, without a full stop. */
  why: string;
  /** Start of the unusable reply, or null if there was no reply. */
  excerpt: string | null;
  savedPath?: string | null;
  /** Whether the provider has certainly stopped the work. */
  isStopped?: boolean;
  /** Whether `recover` may find the outcome later. */
  isAskable?: boolean;
  cause?: unknown;
}

/** State of a job in the reply to a poll. */
export type PolledState =
  /**
   * `ahead`: number of jobs before it at the provider, if known. `share`: progress from 0 to 1. `isWaiting`:
   * the work has not begun.
   */
  | { status: "running"; providerState: string | null; ahead?: number; share?: number; isWaiting?: true }
  | FinishedState
  /** `why`: the provider's message. `charged`: set only if it is certain. */
  | { status: "failed"; errorCode: string | null; why?: string; charged?: "no" };

/** A completed job. `warnings`: sentences about the images, which are saved nevertheless. */
export interface FinishedState {
  status: "completed";
  /** http(s) URLs of the images; empty unless all images have one. */
  urls: string[];
  usage?: Usage;
  seeds?: Seeds;
  warnings?: readonly string[];
  /** File with the reply that `images` reads, if some images have no URL and `keepsReply` is set. */
  reply?: string;
}

export interface PollHow {
  /** The submitted job. For an id from the user, its request is empty. Its folder may be missing. */
  job: Job;
  /** Whether a reply that `images` reads is stored in the job's folder. Default: false. */
  keepsReply?: boolean | undefined;
  timeoutMs?: number | undefined;
  signal: AbortSignal;
}

export type PollReply =
  | { outcome: "state"; task: PolledState }
  | { outcome: "refused"; error: ImggenError }
  | FailedPoll;

/** A poll without a usable reply. It may be sent again. */
export interface FailedPoll {
  outcome: "retry";
  why: string;
  rateLimited: boolean;
  retryAfterMs: number | null;
  /** The network error, if no reply arrived. */
  connectionError: Error | null;
  /**
   * The reply contains no state, or reports that the job does not exist. The job is not over, because some
   * services find a job only a moment after its submit, and a proxy may have replied.
   */
  isMissing?: true;
}

export type MadeImage =
  | { kind: "bytes"; bytes: Buffer }
  /**
   * A file in the job's folder. `isExtra`: an image beyond those requested, which is kept in the folder and not
   * saved as an output.
   */
  | { kind: "file"; file: string; isExtra?: boolean }
  /** An absolute URL. `headers` are sent only to its origin, never along a redirect. */
  | { kind: "url"; url: string; headers?: Readonly<Record<string, string>> };

/** A request as `--dry-run` shows it, with names in place of files, and without a key. */
export type SentRequest =
  /** `url`: without a query. `workflow`: one line for each value that is set in a workflow. */
  { method: "POST"; url: string; body: unknown; workflow?: string[] } | { command: readonly string[] };

/** Result of `prepare`, which applies to new requests. */
export interface Prepared {
  /** Whether the workflow costs money, even at a local address. */
  isPaid: boolean;
  workflow?: string;
}

/** Makes images. Each call of `submit` sends one request and never repeats it. */
export interface Provider {
  readonly version: 1;
  readonly limits: {
    /** Maximum number of requests in flight in all processes of a home, or null for no limit. */
    concurrency: number | null;
    /** Time limit of a submit in milliseconds, from connecting to the id or the image. */
    submitMs: number;
  };
  /**
   * Fields that are sent, or reported by `check` or a warning. A request with another field is refused, so that
   * no field is dropped silently.
   */
  readonly supports: readonly FieldName[];
  /**
   * Reads the workflow of new requests, and checks with the provider whether it costs money. Costs nothing.
   * @param signal null: sends no request
   * @throws ProviderError or UsageError if no request can be sent
   */
  prepare?(signal: AbortSignal | null): Promise<Prepared>;
  /** Whether the size of a request without a ratio is that of its first reference image. Absent: no. */
  readonly isSizedByReference?: true;
  /** Returns a sentence about an unsupported option, or null. Called before a task begins. */
  check?(job: CheckedJob): string | null;
  /**
   * Returns the seed to send, from the user or chosen by imggen, or null if only the provider can choose it.
   * Never throws.
   */
  getSeed?(job: Job): WholeNumber | null;
  /** Returns the request that `submit` would send. Opens no connection. @throws ProviderError */
  describe?(job: Job): Promise<SentRequest>;
  /** Sends the request. Only this function may cost money. Never throws. */
  submit(job: Job, how: SubmitHow): Promise<SubmitReply>;
  /** Polls an accepted task once. Costs nothing. Never throws. Absent: the provider returns no ids. */
  poll?(taskId: string, how: PollHow): Promise<PollReply>;
  /**
   * Reports the progress of an accepted task until the signal aborts. Never throws.
   * @returns true if the task has ended; false if this is unknown
   */
  follow?(taskId: string, how: FollowHow): Promise<boolean>;
  /**
   * Returns the outcome of a request whose process ended, from the stored reply or the provider's record, or
   * null if it is unknown. Sends nothing that costs money. Never throws.
   */
  recover?(job: Job, options: Omit<SubmitHow, "onSent">): Promise<SubmitReply | null>;
  /**
   * Whether the provider still works on a request whose process ended. Changes nothing, and never throws.
   * Absent: the work stops with the connection or the process.
   */
  isAtWork?(job: Job, signal: AbortSignal): Promise<boolean>;
  /**
   * Reads the images of a `made` request, or of a stored result, from the job's folder.
   * @throws ProviderError if the reply has no images, Error if the files are gone
   */
  images?(job: Job): Promise<MadeImage[]>;
  /**
   * Cancels an accepted task.
   * @returns whether the provider confirms that it stops, or null if it does not reply
   * @throws AuthRequiredError if the key is missing or refused
   */
  cancel?(taskId: string, signal: AbortSignal): Promise<boolean | null>;
  /** Headers with the key, for downloads from the provider's origin only. Absent: results are at URLs that expire. */
  readonly downloadHeaders?: Readonly<Record<string, string>> | undefined;
  /** Returns the names of the models, or null if the provider has no list. @throws ProviderError */
  models?(signal: AbortSignal): Promise<string[] | null>;
  /**
   * Returns the loaded model, used for requests without a model, or null if it is unknown. Absent: every
   * request must name a model. Never throws.
   */
  loadedModel?(signal: AbortSignal): Promise<string | null>;
  close(): Promise<void>;
}

/** Cause of a failed request. `failures.ts` decides the result for the task, the run and the charge. */
export type Failure =
  /** Certainly never sent. */
  | { kind: "unsent" }
  /** Certainly never sent, because the reply could not be stored on the disk. */
  | { kind: "disk" }
  /** Key, credit or limit of the account. Every other request fails too until the user fixes it. */
  | { kind: "account"; key: "login_required" | "my_credits.no_credits_description" }
  /** No image was made. The same request may be sent again after `retryAfterMs`. */
  | { kind: "busy"; retryAfterMs: number | null; isStarting?: true }
  /** The request is invalid: an unknown model, an unsupported field. */
  | { kind: "invalid" }
  /** The provider refused to make this image, or failed. */
  | { kind: "refused" }
  /** Possibly charged, and no image arrived. */
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

/**
 * A failed request. Thrown within a provider, and by `prepare`, `describe` and `models`; `submit` and `poll`
 * return it as a reply. `message` is a sentence for the user with the provider's message.
 */
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

/** The error for a request that the provider does not support. @param message a sentence */
export function unsendable(message: string, options: ErrorOptions & { hint?: Wording } = {}): ProviderError {
  return new ProviderError(
    message,
    { kind: "invalid" },
    { hint: "Nothing was sent or charged.", ...options },
  );
}

/** Abort reason of a job's signal after its time limit. */
export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError";
}
