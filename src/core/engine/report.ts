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
  /** Reason why the task is free: the sandbox or a free generator. Absent if the task can cost something. */
  free?: FreeProvider;
  /** Cost and tokens as reported by the provider; absent if the provider does not report them. */
  usage?: Usage;
  /** Reasons for the images that are missing although other images exist; absent if no image is missing. */
  missing?: readonly string[];
  /** Whether every image is saved except images whose replies were lost. Only the user can end such a task. */
  isOnlyLost?: true;
  /** Last known result URLs, with their queries. */
  urls: string[];
  files: SavedFile[];
  submittedAt: string | null;
  completedAt: string | null;
  /** Time from the submit until a poll found the task completed, in milliseconds. Excludes downloads. */
  elapsedMs: number | null;
  warnings: string[];
  error: ImggenError | null;
  reused?: true;
  /** Whether the task waits and no process works on it. */
  isIdle?: true;
  /** Whether an earlier command saved the files, so that this command downloaded nothing. */
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
  // If only the id is known, the state is unknown until a poll, which also sets `charged`.
  const isUnseen = ledgerId === null && state === "accepted" && charged === "unknown";
  return isUnseen ? "unknown" : STATUSES[state];
}

/** Report on a task of which only the service's id is known. */
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

/** Report on a task from the ledger alone, with `error: null`. */
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
    // The ledger records charges of the sandbox too, but they are not real money.
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

export function elapsedMs(submittedAt: string | null, completedAt: string | null): number | null {
  return submittedAt === null || completedAt === null
    ? null
    : Date.parse(completedAt) - Date.parse(submittedAt);
}
