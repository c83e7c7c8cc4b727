import type { ReportStatus } from "../core/engine/report.ts";
import type { ManifestProblem } from "../core/errors.ts";
import type { Charged, ErrorType } from "../lib/error-types.ts";
import type { Usage } from "../task/line.ts";
import type { GenerationRequest } from "../task/request.ts";
import type { SavedFile } from "../task/saved-file.ts";
import type { OpenState } from "../task/task.ts";
import type { ExitCodeRow } from "./exit-codes.ts";

// Results and failures in the shape of the command line's JSON output, which is documented and stays.

/** What is known of a task. */
export interface TaskFacts {
  /** The service's id. */
  taskId: string | null;
  status: ReportStatus;
  /** The state of an open task; absent once the task has ended. */
  state?: OpenState;
  /** As it was sent; null for a task that this machine did not submit. */
  request: GenerationRequest | null;
  /** The documented cost, without that of refused images; null if the service's document gives none. */
  credits: number | null;
  charged: Charged;
  files: SavedFile[];
  /** What the user's own generator says of cost and tokens; absent if it says nothing. */
  usage?: Usage;
  /** ISO 8601, as all times. */
  submittedAt: string | null;
  completedAt: string | null;
}

/** The result of a task that did what was asked. */
export interface TaskSuccess extends TaskFacts {
  ok: true;
  elapsedMs: number | null;
  warnings: string[];
  /** An earlier task answers for the request, continued perhaps: nothing was charged now. */
  reused?: true;
}

/** An image in a file, as all are but those that the command line wrote to standard output. */
export interface ImageFile extends SavedFile {
  path: string;
}

/** The result of a task whose images are files. */
export interface GenerateResult extends TaskSuccess {
  files: ImageFile[];
}

/** What went wrong. Its `type` decides the exit code that the command line ends with. */
export type ErrorDetail = {
  [Type in ErrorType]: {
    type: Type;
    /** The service's own error key, or null. */
    key: string | null;
    message: string;
    /** What it cost and what to do next; may be empty. */
    hint: string;
    exitCode: ExitCodeRow<Type>;
    /** Each row that is wrong, of a batch whose rows cannot be sent. */
    problems?: readonly ManifestProblem[];
  };
}[ErrorType];

/** What went wrong, what it cost, and what to do next. */
export interface FailureJson {
  ok: false;
  error: ErrorDetail;
  taskId: string | null;
  charged: Charged;
  /** The command that takes the task further, or null if there is nothing to take further. */
  resume: string | null;
}

/** The result of a task whose images were not all saved. */
export interface TaskFailure extends FailureJson {
  /** The state of an open task; absent once the task has ended. */
  state?: OpenState;
  /** The images that were saved before the failure. */
  files: SavedFile[];
  warnings: string[];
  /** It is an earlier task: nothing was charged now. */
  reused?: true;
}

export type TaskResult = TaskSuccess | TaskFailure;

/** The status of a task at the service. A failed one, or a failed poll, is `ok: false`. */
export type StatusResult = TaskResult & {
  status: ReportStatus;
  /** Result URLs without their queries, which may be signatures. */
  urls: string[];
};

/** What became of a task that was to be cancelled. `ok`: it is over, or only its images are to be saved. */
export type CancelResult = TaskResult & {
  status: ReportStatus;
  /** How many of its requests were ended by this call. */
  cancelled: number;
};

/** The result of one row of a batch. */
export type BatchRow = (GenerateResult | TaskFailure) & {
  /** 1 for the first. */
  row: number;
  /** Its position among the rows as they were given; 1 for the first. */
  line: number;
  /** An earlier run has saved it. */
  skipped?: true;
};

/**
 * Totals of a batch. `rows` is `saved + skipped + unknown + failed`; `pending` and `notSent` are parts of `failed`.
 * `waiting` is a part of `pending`: nothing was charged for these, and the same batch resumes them.
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
  /** Charged in this run; null if a cost is not documented. */
  credits: number | null;
  /** What may have been charged in earlier runs. */
  creditsBefore: number | null;
  warnings: string[];
}

/** A file in the ledger's folders that cannot be read. */
export interface UnreadableFile {
  file: string;
  message: string;
}

/** The result of the tasks that were charged and not saved. */
export interface ResumeResult {
  /** Whether each is saved now. */
  ok: boolean;
  tasks: TaskResult[];
  /** Tasks that are left to a running `imggen serve`, which finishes them. */
  served?: ServedTask[];
  /** Files of the ledger that cannot be read: each may be a charged task. */
  unreadable?: UnreadableFile[];
}

/** A task of a running `imggen serve`, and that server's process. */
export interface ServedTask {
  taskId: string | null;
  pid: number;
}

/** A task as the ledger has it. */
export interface HistoryEntry extends TaskFacts {
  /** The ledger's name for it, which `resume` takes as well as the service's id. */
  id: string | null;
  /** The base URL of the service, or `sandbox`. */
  service: string;
}

export interface HistoryResult {
  tasks: HistoryEntry[];
  /** Files of the ledger that cannot be read: each may be a charged task. */
  unreadable?: UnreadableFile[];
}

/** A request as it would be sent, and what it would cost. */
export interface Estimate {
  request: GenerationRequest;
  credits: number | null;
  /** How many requests it takes, each at the same price; absent: one. */
  requests?: number;
  warnings: string[];
}
