import type { ImggenError, RefusalDetails } from "../lib/error-types.ts";
import type { WholeNumber } from "../lib/exact-integer.ts";
import type { Wording } from "../lib/wording.ts";
import type { JobOptions } from "../task/intent.ts";
import type { Seeds, Usage } from "../task/line.ts";
import type { GenerationRequest } from "../task/request.ts";
import type { FieldName } from "../task/request-fields.ts";

/** What one request to a provider is made from. */
export interface Job {
  /** As the user made it. The hosted service is sent this, and nothing else. */
  request: GenerationRequest;
  /** Our id of the task: a paid provider gets it as `X-Client-Request-Id`, so that a request can be looked up. */
  taskId: string;
  /** Which of the task's requests, from 0. */
  index: number;
  /** As it was settled with the intent. */
  isPaid: boolean;
  /** As they were settled with the intent. */
  options: JobOptions;
  references: readonly Reference[];
  /** A private folder of this request alone, which exists: what arrives is kept in it. Only the engine removes it. */
  folder: string;
  /** Files that take the reply if the disk of `folder` is full, or have taken it, in this order. Default: none. */
  fallbackFiles?: readonly string[] | undefined;
}

/** The part of a job that is checked before its task is begun. */
export type CheckedJob = Omit<Job, "folder" | "taskId" | "index">;

/** A reference image: a private copy on this disk, or a URL. */
export type Reference = { file: string; mediaType: string } | { url: string };

/** Callbacks and signal of a submit. */
export interface SubmitHow {
  /** Gives the request up. What has arrived by then is kept, and counts where it is whole. */
  signal: AbortSignal;
  /** Called at the last moment before the request can reach the other side. */
  onSent: () => void;
  /** Progress of the image from 0 to 1, if the provider reports it. */
  onProgress: (share: number) => void;
  /** Called with previews of the image, as the provider sends them: any bytes. Absent: none is wanted. */
  onPreview?: ((image: Buffer) => void) | undefined;
  /** Called with a sentence for each part of the request that is not sent, because the model does not support it. */
  onWarning?: ((message: string) => void) | undefined;
  /** Called at once with a warning if no disk takes a reply that is paid for: it is lost if the process ends. */
  onUnstored?: ((message: string) => void) | undefined;
}

/** Reason for a request to wait before it is sent. */
export interface Waiting {
  /** Number of requests before it. */
  ahead: number;
  /** For whom it waits: "another imggen process, pid 4711", "a request that was given up, for 3 minutes at most". */
  holder: string;
}

/** How a request is followed while the provider works on it. */
export type FollowHow = Pick<SubmitHow, "signal" | "onProgress" | "onPreview">;

/** Result of one submit. Only `accepted`, `made` and `unknown` may have been charged. */
export type SubmitReply =
  /** The provider has the task, under an id to poll. */
  | { outcome: "accepted"; taskId: string }
  /**
   * Its image is in the job's folder, or the reply there says where it is: `images` hands it over. `savedPath`: the file of the
   * reply, if it is a fallback's. `seeds`: as the provider reports them.
   */
  | { outcome: "made"; usage: Usage | null; savedPath?: string | undefined; seeds?: Seeds | undefined }
  | { outcome: "refused"; error: ImggenError }
  /** `isStarting`: a free server that is not ready yet, and is waited for as long as the user waits. */
  | { outcome: "rate_limited"; retryAfterMs: number | null; error: ImggenError; isStarting?: true }
  /** Nothing has reached the other side. `error`: in the provider's own words, where it is no matter of connections. */
  | { outcome: "not_sent"; cause: unknown; error?: ImggenError }
  | UnknownReply;

/** The request may have been charged. */
export interface UnknownReply {
  outcome: "unknown";
  /** A clause, without a full stop. */
  why: string;
  /** The beginning of a reply that could not be used; null if there was none. */
  excerpt: string | null;
  /** File of the saved reply; absent or null if there is none. */
  savedPath?: string | null;
  /** Whether the other side has certainly stopped working on it. */
  isStopped?: boolean;
  /** Whether it can be found out later, and not now, what became of it: `recover` tries again. */
  isAskable?: boolean;
  cause?: unknown;
}

/** A task as polling shows it. */
export type PolledState =
  /**
   * `ahead`: how many others run or wait before it there, where that is known. `share`: its progress, from 0 to 1.
   * `isWaiting`: it has not begun.
   */
  | { status: "running"; providerState: string | null; ahead?: number; share?: number; isWaiting?: true }
  /** `warnings`: sentences about the images, which are saved nevertheless. */
  | FinishedState
  /** `why`: the provider's words. `charged`: what is known for certain, if anything is. */
  | { status: "failed"; errorCode: string | null; why?: string; charged?: "no" };

/** A job that is completed. `warnings`: sentences about the images, which are saved nevertheless. */
export interface FinishedState {
  status: "completed";
  /** http(s) URLs of its images; empty if not all of them are at such URLs. */
  urls: string[];
  usage?: Usage;
  /** As the provider reports them. */
  seeds?: Seeds;
  warnings?: readonly string[];
  /** File in the job's folder with a reply whose images are not all at URLs, if it was to be kept: `images` reads it. */
  reply?: string;
}

/** Context of a poll. */
export interface PollHow {
  /** The job as it was made; of an id that the user has named, one that asks for nothing. Its folder need not exist. */
  job: Job;
  /** Whether a reply that `images` is to read is kept in the job's folder. Default: false, and nothing is left there. */
  keepsReply?: boolean | undefined;
  /** Time limit in milliseconds. */
  timeoutMs?: number | undefined;
  signal: AbortSignal;
}

/** The result of one poll. */
export type PollReply =
  | { outcome: "state"; task: PolledState }
  | { outcome: "refused"; error: ImggenError }
  | FailedPoll;

/** A poll without a usable answer, which may be sent again. */
export interface FailedPoll {
  outcome: "retry";
  why: string;
  rateLimited: boolean;
  retryAfterMs: number | null;
  /** The network error, if there was no answer at all. */
  connectionError: Error | null;
  /**
   * The service, or a server before it, has answered without a word of the job, or that there is no such job. It is no end:
   * some know one only a moment after its submit, and a proxy may have answered.
   */
  isMissing?: true;
}

/** An image that a request has made, before it is checked. */
export type MadeImage =
  | { kind: "bytes"; bytes: Buffer }
  /** A file of the job's folder. `isExtra`: it was left beside the image that was asked for, and is kept, not saved. */
  | { kind: "file"; file: string; isExtra?: boolean }
  /** Absolute. `headers` go to this URL's own origin if that is the provider's, and never along a redirect. */
  | { kind: "url"; url: string; headers?: Readonly<Record<string, string>> };

/** A request as `--dry-run` shows it: names stand for files, and no key is in it. */
export type SentRequest =
  /** `url`: without a query. `workflow`: what it sets in a workflow, a line each, where the body is one. */
  | { method: "POST"; url: string; body: unknown; workflow?: string[] }
  /** The words of a command. */
  | { command: readonly string[] };

/** The workflow of new requests to a provider. */
export interface Prepared {
  /** Whether it costs money, whatever the address of the provider. */
  isPaid: boolean;
  workflow?: string;
}

/** Makes images. One request for each call of `submit`, which nothing here sends again by itself. */
export interface Provider {
  readonly version: 1;
  readonly limits: {
    /** Maximum number of requests in flight, over all processes of one state folder; null: any number. */
    concurrency: number | null;
    /** How long a submit may take, connecting included, in milliseconds: until the id, or until the image. */
    submitMs: number;
  };
  /**
   * The fields of a request that reach the other side, or that `check` or a warning speaks of. A request with any other is
   * refused, so that no field is dropped silently.
   */
  readonly supports: readonly FieldName[];
  /**
   * Reads the workflow of new requests, and asks the other side whether it costs money. Costs nothing.
   * @param signal null: nobody is asked
   * @throws ProviderError or UsageError where no request can be sent
   */
  prepare?(signal: AbortSignal | null): Promise<Prepared>;
  /** Whether it is sent a size, which without a ratio is that of the first reference image. Absent: no. */
  readonly isSizedByReference?: true;
  /** A sentence about an option that the provider does not support; null for none. Called before a task is begun. */
  check?(job: CheckedJob): string | null;
  /**
   * The seed that a job is sent with, given or chosen by imggen; null if there is none, or only the provider knows it. Never
   * throws.
   */
  getSeed?(job: Job): WholeNumber | null;
  /** The request that `submit` would send, for people to read. Opens no connection. @throws ProviderError */
  describe?(job: Job): Promise<SentRequest>;
  /** Sends the request: the only function that may cost money. Never throws. */
  submit(job: Job, how: SubmitHow): Promise<SubmitReply>;
  /** Polls a task that it accepted, once. Costs nothing. Never throws. Absent: it gives no ids. */
  poll?(taskId: string, how: PollHow): Promise<PollReply>;
  /**
   * Reports the progress of a task that it accepted, until the signal. Never throws.
   * @returns whether the task has ended; false if it does not say
   */
  follow?(taskId: string, how: FollowHow): Promise<boolean>;
  /**
   * The outcome of a request whose process ended, from what had arrived or what the other side still knows. Sends nothing
   * that costs money. Never throws. @returns null if nothing is known of it
   */
  recover?(job: Job, how: Omit<SubmitHow, "onSent">): Promise<SubmitReply | null>;
  /**
   * Whether the other side still works on a request whose process ended. Changes nothing, and never throws. Absent: it stops with
   * the connection, or with the process.
   */
  isAtWork?(job: Job, signal: AbortSignal): Promise<boolean>;
  /**
   * The images of a request that ended as `made`, or with a result that was kept, read from the job's folder.
   * @throws ProviderError where there are none, Error where they are gone
   */
  images?(job: Job): Promise<MadeImage[]>;
  /**
   * Asks it to stop working on a task that it accepted.
   * @returns whether it says that it has stopped it, or will; null where it does not answer
   * @throws AuthRequiredError where it refuses the key, or needs one
   */
  cancel?(taskId: string, signal: AbortSignal): Promise<boolean | null>;
  /** Headers for downloads from its own origin alone: its key. Absent: its results are elsewhere, at URLs that expire. */
  readonly downloadHeaders?: Readonly<Record<string, string>> | undefined;
  /** The names of its models; null where it cannot be asked. @throws ProviderError */
  models?(signal: AbortSignal): Promise<string[] | null>;
  /**
   * The model that it has loaded, which it uses for requests that name none; null if it does not say. Absent: every request
   * must name a model. Never throws.
   */
  loadedModel?(signal: AbortSignal): Promise<string | null>;
  close(): Promise<void>;
}

/**
 * How a request to a provider failed, as a closed set. `failures.ts` says what each means for the task, for the run and
 * for the charge.
 */
export type Failure =
  /** Certainly never sent. */
  | { kind: "unsent" }
  /** Certainly never sent: the disk cannot keep its reply. */
  | { kind: "disk" }
  /** Key, credit or limit of the account: no other request would fare better until the user has fixed it. */
  | { kind: "account"; key: "login_required" | "my_credits.no_credits_description" }
  /** Nothing was made now. The same request may be sent again after this time, in milliseconds. */
  | { kind: "busy"; retryAfterMs: number | null; isStarting?: true }
  /** This request is wrong: a model that is not there, a field that it does not take. */
  | { kind: "invalid" }
  /** The provider will not make this image, or could not. */
  | { kind: "refused" }
  /** It may have been paid for, and there is no image. */
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
 * A request to a provider failed. Thrown within a provider, and by `prepare`, `describe` and `models`; `submit` and `poll`
 * return it as a reply. `failure` is what to act on; `message` is a sentence for the user, with the provider's own words.
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

/** The error for a request that cannot be sent as it is. @param message a sentence */
export function unsendable(message: string, options: ErrorOptions & { hint?: Wording } = {}): ProviderError {
  return new ProviderError(
    message,
    { kind: "invalid" },
    { hint: "Nothing was sent or charged.", ...options },
  );
}

/** The reason of a job's signal after its time limit. Nothing is read from it. */
export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError";
}
