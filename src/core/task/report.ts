import { GenerationFailedError, NetworkError, OutcomeUnknownError } from "../../api/api-errors.ts";
import type { Charged, ImggenError } from "../../lib/error-types.ts";
import { taskIdIn } from "../../providers/service/excerpt.ts";
import { type FreeAt, freeAt } from "../../task/intent.ts";
import { effectiveState, type StateName, type TaskState, type Usage } from "../../task/lifecycle.ts";
import { chargedOf, type TaskRecord, taskIdOf } from "../../task/record.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import { ClaimedError, InheritedError, PartialError } from "../errors.ts";

/** The result of one task: the one shape that every command renders, whatever happened. */
export interface TaskReport {
  /** The ledger's name for it; null for a task that this machine did not submit. */
  ledgerId: string | null;
  /** The service's id; null if none was given, or none is known. */
  taskId: string | null;
  /** Its state. A task of which only the id is known counts as accepted. */
  state: StateName;
  /** Whether its result is waited for; false if only the submit was requested. */
  isAwaited: boolean;
  /** null for a task that this machine did not submit. */
  request: GenerationRequest | null;
  credits: number | null;
  charged: Charged;
  /** Where it is free; absent where it may cost something. */
  free?: FreeAt;
  /** What the provider says of cost and tokens; absent if it says nothing. */
  usage?: Usage;
  /** Why there is no image, of each request that has none though others have one; absent for none. */
  missing?: readonly string[];
  /** Result URLs as last seen, queries included. */
  urls: string[];
  files: SavedFile[];
  submittedAt: string | null;
  completedAt: string | null;
  /** Time from the submit until it was seen to be completed; downloads do not count. */
  elapsedMs: number | null;
  warnings: string[];
  /** Why the report is not the success that was asked for. */
  error: ImggenError | null;
  /** An earlier task that answers for this request, so that nothing was charged now. */
  reused?: true;
  /** Its files are those that were saved before: nothing was downloaded now. */
  isSavedBefore?: true;
}

/** The `status` of the JSON output. */
export type ReportStatus = "submitted" | "running" | "completed" | "failed" | "unknown" | "refused";

const STATUSES: Readonly<Record<StateName, ReportStatus>> = {
  intent: "unknown",
  waiting: "running",
  started: "running",
  rate_limited: "unknown",
  not_sent: "refused",
  refused: "refused",
  unknown: "unknown",
  dismissed: "unknown",
  accepted: "running",
  completed: "completed",
  failed: "failed",
  saved: "completed",
};

/** The status of a task, as in the JSON output. */
export function reportStatus({ state, isAwaited }: Pick<TaskReport, "state" | "isAwaited">): ReportStatus {
  return isAwaited ? STATUSES[state] : "submitted";
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
export function reportOf(record: TaskRecord): TaskReport {
  return { ...factsOf(record), error: errorOf(record) };
}

/** As `reportOf`, without an error: for a task that has just begun. */
export function factsOf(record: TaskRecord): TaskReport {
  const { id, intent, submittedAt, state } = record;
  const { request, credits } = intent;
  const missing = missingIn(record);
  const free = freeAt(intent);
  const effective = effectiveState(state);
  const completedAt = "completedAt" in state ? state.completedAt : null;
  return {
    ledgerId: id,
    taskId: taskIdOf(record),
    state: effective,
    isAwaited: true,
    request,
    credits,
    charged: chargedOf(record),
    ...(free !== null && { free }),
    ...("usage" in state && state.usage && { usage: state.usage }),
    ...(missing.length > 0 && { missing }),
    urls: state.name === "completed" ? state.urls : [],
    files: filesOf(state),
    submittedAt,
    completedAt,
    elapsedMs: elapsedMs(submittedAt, completedAt),
    warnings: [],
    error: null,
  };
}

/** How long a task took, as the ledger knows it: from its submit until it was seen to be completed. */
export function elapsedMs(submittedAt: string | null, completedAt: string | null): number | null {
  return submittedAt === null || completedAt === null
    ? null
    : Date.parse(completedAt) - Date.parse(submittedAt);
}

function filesOf(state: TaskState): SavedFile[] {
  if (state.name === "saved") return state.files;
  return "partlySaved" in state ? state.partlySaved.filter((file) => file !== null) : [];
}

/** Why a request has no image, of those that are at their end without one, where others have made theirs. */
function missingIn({ state, requests }: TaskRecord): string[] {
  if (state.name !== "completed" && state.name !== "saved") return [];
  return requests.flatMap((request, at) => {
    const why = whyNone(request);
    return why === null ? [] : [`image ${at + 1}: ${why}`];
  });
}

function whyNone(state: TaskState): string | null {
  switch (state.name) {
    case "refused":
      return state.error.message;
    case "unknown":
      return `it may have been charged, and is lost: ${state.why}${keptIn(state.kept)}`;
    case "failed":
      return state.why ?? "it failed";
    case "not_sent":
      return state.why;
    case "dismissed":
      return "it was dismissed";
    default:
      return null;
  }
}

function keptIn(kept: string | null): string {
  return kept === null ? "" : `; what arrived is kept in ${kept}`;
}

/** The error of a task in this state; null if there is none. */
export function errorOf(record: TaskRecord): ImggenError | null {
  const { id, intent, state } = record;
  switch (state.name) {
    case "intent":
      return new OutcomeUnknownError(`Request ${id} was sent, and its reply was lost.`);
    case "unknown":
      if (intent.work)
        return new OutcomeUnknownError(
          `Task ${intent.work.taskId} may have been charged, and has no image: ${state.why}${keptIn(state.kept)}.`,
        );
      return new OutcomeUnknownError(`Request ${id} was sent, and its reply was lost.`, {
        mentionedTaskId: mentionedTaskId(state),
      });
    case "rate_limited":
      if (state.isOwnerGone) return neverSubmitted(id, ENDED_WHILE_BUSY);
      return new ClaimedError(`Another process waits to submit request ${id} again: ${state.why}`, {
        charged: "unknown",
      });
    case "not_sent":
      if (state.why !== CANCELLED) return neverSubmitted(id, state.why);
      return taskFailed(taskIdOf(record) ?? id, { errorCode: null, why: `${CANCELLED}.`, charged: "no" });
    case "refused": {
      const { type, key, message } = state.error;
      return new InheritedError(type, message, { key: key ?? undefined });
    }
    case "failed":
      return taskFailed(taskIdOf(record) ?? state.taskId, {
        ...state,
        ...(chargedOf(record) === "no" && { charged: "no" }),
      });
    case "completed":
    case "saved":
      return partly(record);
    case "waiting":
    case "started":
    case "dismissed":
    case "accepted":
      return null;
  }
}

/** A task id in a reply that could not be used: perhaps that of the request. */
export function mentionedTaskId(state: TaskState): string | null {
  return state.name === "unknown" ? taskIdIn(state.excerpt) : null;
}

/** Why a request has no image that the user has cancelled. */
export const CANCELLED = "it was cancelled";

/** Why a request was not sent whose process ended while it waited out a 429. */
export const ENDED_WHILE_BUSY =
  "the service was busy (HTTP 429), and imggen ended before it could submit it again";

function neverSubmitted(id: string, why: string): NetworkError {
  return new NetworkError(`Request ${id} was never sent: ${why}`);
}

/** How a task failed. */
interface TaskFailed {
  errorCode: string | null;
  /** What the user's own generator says of it. */
  why?: string;
  /** Absent: whether a failed task is refunded, the service's document does not say. */
  charged?: "no";
}

/** A task's end without an image. */
export function taskFailed(taskId: string, { errorCode, why, charged }: TaskFailed): GenerationFailedError {
  const facts = {
    charged: charged ?? ("unknown" as const),
    hint: charged === "no" ? "Nothing was charged, and it is not sent again." : undefined,
  };
  if (why !== undefined) return new GenerationFailedError(`Task ${taskId} has no image: ${why}`, facts);
  const code = errorCode === null ? "" : ` (error code ${errorCode})`;
  return new GenerationFailedError(`The service could not finish task ${taskId}${code}.`, facts);
}

/** The error of a task some of whose images there are not; null where there are all. */
function partly(record: TaskRecord): PartialError | null {
  const missing = missingIn(record);
  if (missing.length === 0) return null;
  const { requests, id } = record;
  const isLost = requests.some(({ name }) => name === "unknown");
  return new PartialError(
    `${missing.length} of ${requests.length} images could not be made. ${missing.map(ended).join(" ")}`,
    {
      charged: chargedOf(record),
      hint: isLost ? `To stop tracking what is lost: imggen resume ${id} --dismiss` : "The others are saved.",
    },
  );
}

function ended(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replace(/(?<![.?!])$/, ".");
}
