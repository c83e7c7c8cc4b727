import { GenerationFailedError, NetworkError, OutcomeUnknownError } from "../../api/errors.ts";
import { taskIdIn } from "../../api/excerpt.ts";
import { type Charged, type ErrorType, ImggenError } from "../../lib/errors.ts";
import type { TaskProgress } from "../../task/lifecycle.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import { PendingError } from "../errors.ts";

/** What became of one task: the one shape that every command renders, whatever happened. */
export interface TaskReport {
  /** The ledger's name for it; null for a task that this machine did not buy. */
  ledgerId: string | null;
  /** The service's id; null where none was given, or none is known. */
  taskId: string | null;
  /** `submitted` was not waited for; `unknown` may or may not exist; `refused` does not. */
  status: "submitted" | "running" | "completed" | "failed" | "unknown" | "refused";
  /** null for a task that this machine did not buy. */
  request: GenerationRequest | null;
  credits: number | null;
  charged: Charged;
  /** Result URLs as last seen, queries included. */
  urls: string[];
  files: SavedFile[];
  submittedAt: string | null;
  completedAt: string | null;
  elapsedMs: number | null;
  warnings: string[];
  /** Why the report is not the success that was asked for. */
  error: ImggenError | null;
  /** Whether `resume` can take it further. */
  resumable: boolean;
  /** An earlier purchase that answers for this one, so that nothing was spent now. */
  reused?: true;
}

/** A report on a task of which only the service's id is known. */
export function reportOfId(taskId: string): TaskReport {
  return {
    ledgerId: null,
    taskId,
    status: "running",
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
    resumable: true,
  };
}

/** A report on a task as the ledger holds it, without asking anybody. */
export function reportOf(record: TaskRecord): TaskReport {
  return { ...factsOf(record), error: standingError(record.id, record.progress) };
}

/** As `reportOf`, with no word on what went wrong: for a task that has only just begun. */
export function factsOf({ id, intent, submittedAt, progress }: TaskRecord): TaskReport {
  const { request, credits } = intent;
  const taskId = "taskId" in progress ? progress.taskId : null;
  const completedAt = "completedAt" in progress ? progress.completedAt : null;
  return {
    ledgerId: id,
    taskId,
    ...standing(progress),
    request,
    credits,
    urls: progress.status === "completed" ? progress.urls : [],
    files: filesOf(progress),
    submittedAt,
    completedAt,
    elapsedMs: completedAt === null ? null : Date.parse(completedAt) - Date.parse(submittedAt),
    warnings: [],
    error: null,
  };
}

function filesOf(progress: TaskProgress): SavedFile[] {
  if (progress.status === "saved") return progress.files;
  return progress.status === "completed" ? progress.partlySaved.filter((file) => file !== null) : [];
}

function standingError(id: string, progress: TaskProgress): ImggenError | null {
  if (progress.status === "failed") return taskFailed(progress.taskId, progress.errorCode);
  if (progress.status === "intended" || progress.status === "unknown") {
    return new OutcomeUnknownError(
      `Request ${id} was sent, and its reply was lost: it may or may not have been charged.`,
      { mentionedTaskId: "excerpt" in progress ? taskIdIn(progress.excerpt) : null },
    );
  }
  if (progress.status === "rate_limited") {
    if (progress.isOwnerGone) return neverSubmitted(id, ENDED_WHILE_BUSY);
    return new PendingError(`Another process waits to submit request ${id} again: ${progress.why}`, {
      charged: "unknown",
    });
  }
  if (progress.status === "refused") return new PastRefusal(progress.error);
  if (progress.status === "not_sent") return neverSubmitted(id, progress.why);
  return null;
}

/** Why a request was not sent whose process ended while it waited out a 429. */
export const ENDED_WHILE_BUSY =
  "the service was busy (HTTP 429), and imggen ended before it could submit it again";

function neverSubmitted(id: string, why: string): NetworkError {
  return new NetworkError(`Request ${id} was never sent: ${why}`);
}

/** What the service said to a request at the time. */
class PastRefusal extends ImggenError {
  readonly type: ErrorType;

  constructor({ type, key, message }: { type: ErrorType; key: string | null; message: string }) {
    super(message, { key: key ?? undefined });
    this.type = type;
  }
}

/** A task's end without an image. Whether a failed task is refunded, the service's document does not say. */
export function taskFailed(taskId: string, errorCode: string | null): GenerationFailedError {
  const code = errorCode === null ? "" : ` (error code ${errorCode})`;
  return new GenerationFailedError(`The service could not finish task ${taskId}${code}.`, {
    charged: "unknown",
  });
}

function standing(progress: TaskProgress): Pick<TaskReport, "status" | "charged" | "resumable"> {
  switch (progress.status) {
    case "intended":
    case "unknown":
    case "dismissed":
      return { status: "unknown", charged: "unknown", resumable: false };
    case "rate_limited":
      if (!progress.isOwnerGone) return { status: "unknown", charged: "unknown", resumable: false };
      return { status: "refused", charged: "no", resumable: false };
    case "not_sent":
    case "refused":
      return { status: "refused", charged: "no", resumable: false };
    case "accepted":
      return { status: "running", charged: "yes", resumable: true };
    case "completed":
      return { status: "completed", charged: "yes", resumable: true };
    case "failed":
      return { status: "failed", charged: "unknown", resumable: false };
    case "saved":
      return { status: "completed", charged: "yes", resumable: false };
  }
}
