import type { Charged, ImggenError } from "../../lib/error-types.ts";
import { type FreeProvider, getFreeProvider } from "../../task/intent.ts";
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
import { missingReasons, taskError } from "./task-error.ts";

/** Result of one task, in one shape for all commands. */
export interface TaskReport {
  /** The ledger's id; null for a task that this machine did not submit. */
  ledgerId: string | null;
  /** The service's id; null if there is none, or it is unknown. */
  taskId: string | null;
  /** A task of which only the id is known counts as accepted. */
  state: TaskState;
  /** Whether the command waits for the result; false if it only submits. */
  isAwaited: boolean;
  /** null for a task that this machine did not submit. */
  request: GenerationRequest | null;
  credits: number | null;
  charged: Charged;
  /** Reason that the task is free: the sandbox or a free generator. Absent if it may cost something. */
  free?: FreeProvider;
  /** Cost and tokens as reported by the provider; absent if it does not report them. */
  usage?: Usage;
  /** Reason for each request without an image if other requests have images; absent for none. */
  missing?: readonly string[];
  /** Whether everything is saved except for lost replies, so that only the user can end the task. */
  isOnlyLost?: true;
  /** Last known result URLs, queries included. */
  urls: string[];
  files: SavedFile[];
  submittedAt: string | null;
  completedAt: string | null;
  /** Time from the submit until a poll found the task completed. Downloads do not count. */
  elapsedMs: number | null;
  warnings: string[];
  error: ImggenError | null;
  reused?: true;
  /** Whether it waits while no process works on it. */
  isIdle?: true;
  /** Whether its files were saved before, so that nothing was downloaded. */
  isSavedBefore?: true;
}

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

export function reportStatus({
  state,
  isAwaited,
  ledgerId,
  charged,
}: Pick<TaskReport, "state" | "isAwaited"> & Partial<TaskReport>): ReportStatus {
  if (!isAwaited) return "submitted";
  // If only the id is known, only a poll can show the state, and a poll also sets `charged`.
  const isUnseen = ledgerId === null && state === "accepted" && charged === "unknown";
  return isUnseen ? "unknown" : STATUSES[state];
}

/** Report on a task if only the service's id is known. */
export function createIdReport(taskId: string): TaskReport {
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

/** Report on a task from the ledger alone, without a poll. */
export function taskReport(task: Task): TaskReport {
  return { ...taskFacts(task), error: taskError(task) };
}

/** As `taskReport`, without the error: for a task that has just begun. */
export function taskFacts(task: Task): TaskReport {
  const { id, intent, submittedAt, state, requests } = task;
  const missing = missingReasons(task);
  const free = getFreeProvider(intent);
  const usage = totalUsage(task);
  const isCompleted = state === "completed" || state === "saved";
  const completedAt = isCompleted ? (getCompletion(task)?.at ?? null) : null;
  return {
    ledgerId: id,
    taskId: getTaskId(task),
    state,
    isAwaited: true,
    request: intent.request,
    credits: spentCredits(task),
    // Charges of the sandbox are not real money.
    charged: free === null ? getCharged(task) : "no",
    ...(free !== null && { free }),
    ...(isCompleted && usage && { usage }),
    ...(missing.length > 0 && { missing }),
    ...(isOnlyLost(task) && { isOnlyLost: true }),
    urls: isCompleted ? requests.flatMap((each) => getAnswer(each, "completed")?.urls ?? []) : [],
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

/** Duration of a task from its submit until a poll found it completed. */
export function elapsedMs(submittedAt: string | null, completedAt: string | null): number | null {
  return submittedAt === null || completedAt === null
    ? null
    : Date.parse(completedAt) - Date.parse(submittedAt);
}
