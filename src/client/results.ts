import type { ReportStatus } from "../core/engine/report.ts";
import type { ManifestProblem } from "../core/errors.ts";
import type { Charged, ErrorType } from "../lib/error-types.ts";
import type { Usage } from "../task/line.ts";
import type { GenerationRequest } from "../task/request.ts";
import type { SavedFile } from "../task/saved-file.ts";
import type { OpenState } from "../task/task.ts";
import type { ExitCodeRow } from "./exit-codes.ts";

// Results and failures have the shape of the documented JSON output of the command line.

/** Facts about a task. */
export interface TaskFacts {
  /** Id of the task at the service. */
  taskId: string | null;
  status: ReportStatus;
  /** State of an open task. Absent after the task has ended. */
  state?: OpenState;
  /** The request that was sent, or null for a task of another machine. */
  request: GenerationRequest | null;
  /** Documented cost in credits without refused images, or null if undocumented. */
  credits: number | null;
  charged: Charged;
  files: SavedFile[];
  /** Cost and tokens as the user's generator reports them. */
  usage?: Usage;
  /** ISO 8601, like all times. */
  submittedAt: string | null;
  completedAt: string | null;
}

/** Result of a successful task. */
export interface TaskSuccess extends TaskFacts {
  ok: true;
  elapsedMs: number | null;
  warnings: string[];
  /** Whether it is the earlier task of an identical request. Nothing was charged now. */
  reused?: true;
}

/** An image in a file. Only the command line can write images to standard output instead. */
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
    /** Cost and next step. May be empty. */
    hint: string;
    exitCode: ExitCodeRow<Type>;
    /** All invalid rows of a batch that cannot be sent. */
    problems?: readonly ManifestProblem[];
  };
}[ErrorType];

/** A failure with its cost and next step. */
export interface FailureJson {
  ok: false;
  error: ErrorDetail;
  taskId: string | null;
  charged: Charged;
  /** Command that continues the task, or null if it cannot continue. */
  resume: string | null;
}

/** Result of a task whose images were not all saved. */
export interface TaskFailure extends FailureJson {
  /** State of an open task. Absent after the task has ended. */
  state?: OpenState;
  /** Images saved before the failure. */
  files: SavedFile[];
  warnings: string[];
  /** Whether it is an earlier task. Nothing was charged now. */
  reused?: true;
}

export type TaskResult = TaskSuccess | TaskFailure;

/** Status of a polled task. `ok: false` if the task or the poll failed. */
export type StatusResult = TaskResult & {
  status: ReportStatus;
  /** Result URLs without their queries, which may be signatures. */
  urls: string[];
};

/** Result of a cancellation. `ok` if the task has ended, or only its images remain to be saved. */
export type CancelResult = TaskResult & {
  status: ReportStatus;
  /** Number of requests that this call cancelled. */
  cancelled: number;
};

/** Result of one row of a batch. */
export type BatchRow = (GenerateResult | TaskFailure) & {
  /** Number of the row, from 1. */
  row: number;
  /** Position of the row in the input, from 1. */
  line: number;
  /** Whether an earlier run saved it. */
  skipped?: true;
};

/**
 * Totals of a batch. `rows` is `saved + skipped + unknown + failed`. `pending` and `notSent` are parts of
 * `failed`. `waiting` is a part of `pending`: uncharged rows that the same batch resumes.
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
  /** Credits charged in this run, or null if a cost is undocumented. */
  credits: number | null;
  /** Credits that may have been charged in earlier runs, or null. */
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
  /** Whether all tasks are saved now. */
  ok: boolean;
  tasks: TaskResult[];
  /** Tasks that a running `imggen serve` finishes. */
  served?: ServedTask[];
  /** Unreadable files of the ledger, each of which may be a charged task. */
  unreadable?: UnreadableFile[];
}

/** A task of a running `imggen serve`, with the server's process id. */
export interface ServedTask {
  taskId: string | null;
  pid: number;
}

/** A recorded task. */
export interface HistoryEntry extends TaskFacts {
  /** Id in the ledger, which `resume` accepts as well. */
  id: string | null;
  /** Base URL of the service, or `sandbox`. */
  service: string;
}

export interface HistoryResult {
  tasks: HistoryEntry[];
  /** Unreadable files of the ledger, each of which may be a charged task. */
  unreadable?: UnreadableFile[];
}

/** A request that would be sent, and its cost. */
export interface Estimate {
  request: GenerationRequest;
  credits: number | null;
  /** Number of requests at this price. Default 1. */
  requests?: number;
  warnings: string[];
}
