import type { ReportStatus } from "../core/engine/report.ts";
import type { ManifestProblem } from "../core/errors.ts";
import type { Charged, ErrorType } from "../lib/error-types.ts";
import type { Usage } from "../task/line.ts";
import type { GenerationRequest } from "../task/request.ts";
import type { SavedFile } from "../task/saved-file.ts";
import type { OpenState } from "../task/task.ts";
import type { ExitCodeRow } from "./exit-codes.ts";

// Results and failures have the shape of the documented JSON output of the command line.

export interface TaskFacts {
  /** Id of the task at the service or generator, or null. */
  taskId: string | null;
  status: ReportStatus;
  /** State of an unfinished task. Absent after the task has ended. */
  state?: OpenState;
  /** Request of the task, or null if the task was submitted on another machine. */
  request: GenerationRequest | null;
  /** Documented cost in credits, or null. Refused requests are not counted. */
  credits: number | null;
  charged: Charged;
  files: SavedFile[];
  /** Cost and tokens as the user's generator reports them. */
  usage?: Usage;
  /** Time of the submit in ISO 8601, like all times. */
  submittedAt: string | null;
  completedAt: string | null;
}

/** Result of a successful task. */
export interface TaskSuccess extends TaskFacts {
  ok: true;
  elapsedMs: number | null;
  warnings: string[];
  /** Set if the task is an earlier task of an identical request. No new task was submitted. */
  reused?: true;
}

/** A saved image. `path` is never null, because only the command line writes images to standard output. */
export interface ImageFile extends SavedFile {
  path: string;
}

/** Result of a task whose images are files. */
export interface GenerateResult extends TaskSuccess {
  files: ImageFile[];
}

/** An error. Its `type` determines the exit code of the command line. */
export type ErrorDetail = {
  [Type in ErrorType]: {
    type: Type;
    /** Error key of the service, or null. */
    key: string | null;
    message: string;
    /** Cost and next step, or an empty text. */
    hint: string;
    exitCode: ExitCodeRow<Type>;
    /** All invalid rows of a refused batch. */
    problems?: readonly ManifestProblem[];
  };
}[ErrorType];

/** A failure with its cost and next step. */
export interface FailureJson {
  ok: false;
  error: ErrorDetail;
  taskId: string | null;
  charged: Charged;
  /** Command that continues the task, or null if the task cannot be continued. */
  resume: string | null;
}

/** Result of a task whose images were not all saved. */
export interface TaskFailure extends FailureJson {
  /** State of an unfinished task. Absent after the task has ended. */
  state?: OpenState;
  /** Images saved before the failure. */
  files: SavedFile[];
  warnings: string[];
  /** Set if the task is an earlier task of an identical request. No new task was submitted. */
  reused?: true;
}

export type TaskResult = TaskSuccess | TaskFailure;

/** Status of a polled task. `ok` is false if the task or the poll failed. */
export type StatusResult = TaskResult & {
  status: ReportStatus;
  /** URLs of the images without their queries, because a query can contain a signature. */
  urls: string[];
};

/** Result of a cancellation. `ok` is true if the task has ended, or if only its images must still be saved. */
export type CancelResult = TaskResult & {
  status: ReportStatus;
  /** Number of requests that this call cancelled. */
  cancelled: number;
};

/** Result of one row of a batch. */
export type BatchRow = (GenerateResult | TaskFailure) & {
  /** Number of the row, from 1. */
  row: number;
  /** Position of the row in the caller's list, or its line in the manifest, from 1. */
  line: number;
  /** Set if an earlier run saved the row's images. */
  skipped?: true;
};

/**
 * Totals of a batch. `rows` is `saved + skipped + unknown + failed`. `failed` includes `pending` and `notSent`.
 * `pending` includes `waiting`, the rows that are not charged yet and that a batch with the same rows resumes.
 */
export interface BatchSummary {
  type: "summary";
  rows: number;
  saved: number;
  failed: number;
  unknown: number;
  skipped: number;
  pending: number;
  waiting: number;
  notSent: number;
  /** Credits that this run charged or might have charged, or null if a cost is undocumented. */
  credits: number | null;
  /** Credits that earlier runs charged or might have charged, or null if a cost is undocumented. */
  creditsBefore: number | null;
  warnings: string[];
}

/** A file of the ledger that cannot be read. */
export interface UnreadableFile {
  file: string;
  message: string;
}

/** Result of resuming charged tasks that were not saved. */
export interface ResumeResult {
  /** Whether all tasks are saved and the ledger has no unreadable files. */
  ok: boolean;
  tasks: TaskResult[];
  /** Tasks that a running `imggen serve` finishes. */
  served?: ServedTask[];
  /** Unreadable files of the ledger. Each file might be a charged task. */
  unreadable?: UnreadableFile[];
}

/** A task of a running `imggen serve`, with the server's process id. */
export interface ServedTask {
  taskId: string | null;
  pid: number;
}

/** A task in the ledger. */
export interface HistoryEntry extends TaskFacts {
  /** Id in the ledger. `resume` accepts this id and `taskId`. */
  id: string | null;
  /** Base URL of the service, name of the generator, or `sandbox`. */
  service: string;
}

export interface HistoryResult {
  tasks: HistoryEntry[];
  /** Unreadable files of the ledger. Each file might be a charged task. */
  unreadable?: UnreadableFile[];
}

/** A request that would be sent, and its cost. */
export interface Estimate {
  request: GenerationRequest;
  credits: number | null;
  /** Number of requests, whose total cost is `credits`. Default 1. */
  requests?: number;
  warnings: string[];
}
