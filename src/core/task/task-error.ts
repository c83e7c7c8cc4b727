import { GenerationFailedError, NetworkError, OutcomeUnknownError } from "../../api/api-errors.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { sentence } from "../../lib/short-text.ts";
import { taskIdIn } from "../../providers/service/excerpt.ts";
import type { FreeAt } from "../../task/intent.ts";
import type { TaskState } from "../../task/lifecycle.ts";
import { chargedOf, type TaskRecord, taskIdOf } from "../../task/record.ts";
import { ClaimedError, InheritedError, PartialError } from "../errors.ts";

/** Why a request has no image, of those that are at their end without one, where others have made theirs. */
export function missingIn({ state, requests }: TaskRecord): string[] {
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
      return new OutcomeUnknownError(`${sentence(state.why)} It is request ${id}.`, {
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
      const { type, key, message, hint } = state.error;
      return new InheritedError(type, message, { key: key ?? undefined, hint });
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

/** How a task's request is submitted again, ready to paste: one of the sandbox belongs to the sandbox. */
export function toSubmitAgain(ledgerId: string | null, free: FreeAt | undefined): string {
  const charge = free ? "" : ", at a new charge";
  return `To submit it again${charge}: imggen rerun ${ledgerId}${free === "sandbox" ? " --sandbox" : ""}`;
}

function neverSubmitted(id: string, why: string): NetworkError {
  return new NetworkError(`Request ${id} was never sent: ${why}`);
}

/** How a task failed. */
interface TaskFailed {
  errorCode: string | null;
  /** What the user's own generator says of it. */
  why?: string;
  /** Absent: the service's document does not say whether a failed task is refunded. */
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
    `${missing.length} of ${requests.length} images could not be made. ${missing.map(sentence).join(" ")}`,
    {
      charged: chargedOf(record),
      hint: isLost ? `To stop tracking what is lost: imggen resume ${id} --dismiss` : "The others are saved.",
    },
  );
}
