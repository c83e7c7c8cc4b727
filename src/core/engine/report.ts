import type { Charged, ImggenError } from "../../lib/error-types.ts";
import { type FreeAt, freeAt } from "../../task/intent.ts";
import type { Usage } from "../../task/line.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import {
  getAnswer,
  getCharged,
  getCompletion,
  getSavedFiles,
  getTaskId,
  isUnsaved,
  spentCredits,
  type Task,
  type TaskState,
  totalUsage,
} from "../../task/task.ts";
import { missingIn, taskError } from "./task-error.ts";

/** The result of one task: the one shape that every command renders, whatever happened. */
export interface TaskReport {
  /** The ledger's name for it; null for a task that this machine did not submit. */
  ledgerId: string | null;
  /** The service's id; null if none was given, or none is known. */
  taskId: string | null;
  /** Its state. A task of which only the id is known counts as accepted. */
  state: TaskState;
  /** Whether its result is waited for; false if only the submit was requested. */
  isAwaited: boolean;
  /** null for a task that this machine did not submit. */
  request: GenerationRequest | null;
  /** As of `spentCredits`. */
  credits: number | null;
  charged: Charged;
  /** Place where it is free; absent if it may cost something. */
  free?: FreeAt;
  /** Cost and tokens as the provider reports them; absent if it does not. */
  usage?: Usage;
  /** Reason for each request without an image, if others have one; absent for none. */
  missing?: readonly string[];
  /** Whether all that can be saved is saved and the rest is lost: only the user can end it. */
  isOnlyLost?: true;
  /** Result URLs as last seen, queries included. */
  urls: string[];
  files: SavedFile[];
  submittedAt: string | null;
  completedAt: string | null;
  /** Time from the submit until it was seen to be completed; downloads do not count. */
  elapsedMs: number | null;
  warnings: string[];
  /** Error that kept the report from being a success. */
  error: ImggenError | null;
  /** An earlier task that answers for this request, so that nothing was charged now. */
  reused?: true;
  /** It waits, and no process is working on it. */
  isIdle?: true;
  /** Its files are those that were saved before: nothing was downloaded now. */
  isSavedBefore?: true;
}

/** The `status` of the JSON output. */
export type ReportStatus =
  | "submitted"
  | "running"
  | "completed"
  | "failed"
  | "cancelled"
  | "unknown"
  | "refused";

const STATUSES: Readonly<Record<TaskState, ReportStatus>> = {
  waiting: "running",
  started: "running",
  not_sent: "refused",
  refused: "refused",
  unknown: "unknown",
  dismissed: "unknown",
  accepted: "running",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
  saved: "completed",
};

/** The status of a task, as in the JSON output. */
export function reportStatus({
  state,
  isAwaited,
  ledgerId,
  charged,
}: Pick<TaskReport, "state" | "isAwaited"> & Partial<TaskReport>): ReportStatus {
  if (!isAwaited) return "submitted";
  // Of a task of which only the id is known, a poll alone can tell, and it says what was charged too.
  const isUnseen = ledgerId === null && state === "accepted" && charged === "unknown";
  return isUnseen ? "unknown" : STATUSES[state];
}

/** A report on a task if only the service's id is known. */
export function reportOfId(taskId: string): TaskReport {
  return {
    ledgerId: null,
    taskId,
    state: "accepted",
    isAwaited: true,
    request: null,
    credits: null,
    charged: "unknown",
    urls: [],
    files: [],
    submittedAt: null,
    completedAt: null,
    elapsedMs: null,
    warnings: [],
    error: null,
  };
}

/** A report on a task from the ledger alone, without a poll. */
export function taskReport(task: Task): TaskReport {
  return { ...taskFacts(task), error: taskError(task) };
}

/** As `reportOf`, without an error: for a task that has just begun. */
export function taskFacts(task: Task): TaskReport {
  const { id, intent, submittedAt, state, requests } = task;
  const missing = missingIn(task);
  const free = freeAt(intent);
  const usage = totalUsage(task);
  const isMade = state === "completed" || state === "saved";
  const completedAt = isMade ? (getCompletion(task)?.at ?? null) : null;
  return {
    ledgerId: id,
    taskId: getTaskId(task),
    state,
    isAwaited: true,
    request: intent.request,
    credits: spentCredits(task),
    // The sandbox is charged in play money.
    charged: free === null ? getCharged(task) : "no",
    ...(free !== null && { free }),
    ...(isMade && usage && { usage }),
    ...(missing.length > 0 && { missing }),
    ...(isOnlyLost(task) && { isOnlyLost: true }),
    urls: isMade ? requests.flatMap((each) => getAnswer(each, "completed")?.urls ?? []) : [],
    files: getSavedFiles(task),
    submittedAt,
    completedAt,
    elapsedMs: elapsedMs(submittedAt, completedAt),
    warnings: [],
    error: null,
  };
}

function isOnlyLost(task: Task): boolean {
  return (
    task.state === "completed" && !isUnsaved(task) && task.requests.some(({ state }) => state === "unknown")
  );
}

/** Duration of a task by the ledger: from its submit until it was seen to be completed. */
export function elapsedMs(submittedAt: string | null, completedAt: string | null): number | null {
  return submittedAt === null || completedAt === null
    ? null
    : Date.parse(completedAt) - Date.parse(submittedAt);
}
