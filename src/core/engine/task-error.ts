import { GenerationFailedError, NetworkError, OutcomeUnknownError } from "../../api/api-errors.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { toSentence } from "../../lib/short-text.ts";
import { action, isWording, option, phrase, type Wording } from "../../lib/wording.ts";
import { taskIdIn } from "../../providers/service/replies.ts";
import { type FreeAt, freeAt } from "../../task/intent.ts";
import {
  CANCELLED,
  decidingRequest,
  displayId,
  getAnswer,
  getCharged,
  getTaskId,
  isGone,
  type RequestState,
  type Task,
} from "../../task/task.ts";
import { ClaimedError, InheritedError, PartialError, PendingError } from "../errors.ts";

/** Reasons of requests that ended without an image, if others have theirs. */
export function missingIn({ state, requests }: Pick<Task, "state" | "requests">): string[] {
  if (state !== "completed" && state !== "saved") return [];
  return requests.flatMap((request, at) => {
    const why = whyNone(request);
    return why === null ? [] : [`image ${at + 1}: ${why}`];
  });
}

function whyNone(request: RequestState): string | null {
  switch (request.state) {
    case "refused":
      return getAnswer(request, "refused")?.error.message ?? "it was refused";
    case "unknown": {
      const unknownAnswer = getAnswer(request, "unknown");
      return `it may have been charged, and is lost: ${unknownAnswer?.why}${savedIn(unknownAnswer?.kept)}`;
    }
    case "failed":
      return getAnswer(request, "failed")?.why ?? "it failed";
    case "cancelled":
      return CANCELLED;
    case "not_sent":
      return request.notSent;
    case "dismissed":
      return "it was dismissed";
    default:
      return null;
  }
}

function savedIn(file: string | undefined): string {
  return file === undefined ? "" : `; what arrived is kept in ${file}`;
}

/** The error of a task in its state; null if there is none. */
export function taskError(task: Task): ImggenError | null {
  const { id, intent, state } = task;
  const deciding = decidingRequest(task);
  const name = getTaskId(task) ?? id;
  switch (state) {
    case "unknown": {
      const unknownAnswer = getAnswer(deciding, "unknown");
      const why = unknownAnswer?.why ?? "its reply was lost";
      if (intent.taskId !== null)
        return new OutcomeUnknownError(
          `Task ${name} may have been charged, and has no image: ${why}${savedIn(unknownAnswer?.kept)}.`,
        );
      // Earlier releases recorded the whole sentence.
      const isSentence = why.startsWith("The request was sent");
      const text = isSentence
        ? why
        : `The request was sent, but whether it was accepted is not known: ${why}`;
      return new OutcomeUnknownError(`${toSentence(text)} It is request ${id}.`, {
        mentionedTaskId: mentionedTaskId(task),
      });
    }
    case "not_sent": {
      return neverSubmitted(id, deciding.notSent ?? "");
    }
    case "refused": {
      const refused = getAnswer(deciding, "refused");
      if (refused === null) return neverSubmitted(id, "it was refused");
      const { type, key, message, hint } = refused.error;
      return new InheritedError(type, message, {
        key: key ?? undefined,
        hint: isWording(hint) ? hint : undefined,
      });
    }
    case "cancelled":
      return taskFailed(name, {
        errorCode: null,
        why: `${CANCELLED}.`,
        ...(getCharged(task) === "no" && { charged: "no" }),
      });
    case "failed": {
      const { errorCode = null, why } = getAnswer(deciding, "failed") ?? {};
      const isFree = getCharged(task) === "no";
      return taskFailed(name, {
        errorCode,
        ...(why !== undefined && { why }),
        ...(isFree && { charged: "no" }),
      });
    }
    case "completed":
    case "saved":
      return partly(task);
    case "accepted": {
      const goneJob = task.requests.find((each) => each.state === "accepted" && isGone(each))?.attempt
        ?.goneReason;
      return goneJob == null ? null : noLongerKnown(task, goneJob);
    }
    case "waiting":
    case "started":
    case "dismissed":
      return null;
  }
}

/**
 * The error of a task that its provider has no word of any longer. It was accepted, and no one has said that it ended. A free
 * one waits to be submitted again.
 */
export function noLongerKnown(task: Task, why: string): ImggenError {
  if (!task.intent.isPaid)
    return new PendingError(`Task ${displayId(task)} waits: ${toSentence(why)}`, {
      charged: "no",
      hint: phrase`To submit it again: ${action("resume")}`,
    });
  return new OutcomeUnknownError(
    `Task ${getTaskId(task) ?? task.id} is no longer known to the service: ${toSentence(why)}`,
    {
      charged: getCharged(task),
      hint: [
        phrase`It stays open. To ask for it once more: ${action("resume")}`,
        phrase`\nTo stop tracking it: ${action("dismiss", task.id)}`,
      ],
    },
  );
}

/** A task id in a reply that could not be used: perhaps that of the request. */
export function mentionedTaskId(task: Task): string | null {
  return taskIdIn(getAnswer(decidingRequest(task), "unknown")?.excerpt ?? null);
}

/** Reason for a request whose process ended before it could submit it, or submit it again. */
export const ENDED_BEFORE = "imggen ended before it could submit it";

/** Command that submits a task's request again, ready to paste. It names the sandbox for a task of the sandbox. */
export function toSubmitAgain(ledgerId: string | null, free: FreeAt | undefined): Wording[] {
  const charge = free ? "" : ", at a new charge";
  if (ledgerId === null) return [];
  return [phrase`To submit it again${charge}: ${action("rerun", ledgerId, free === "sandbox")}`];
}

function neverSubmitted(id: string, why: string): NetworkError {
  return new NetworkError(`Request ${id} was never sent: ${why}`);
}

/** Facts about a failed task. */
interface TaskFailed {
  errorCode: string | null;
  /** Message of the user's generator. */
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

/** The error of a task without some of its images; null if it has all. */
function partly(task: Task): PartialError | null {
  const missing = missingIn(task);
  if (missing.length === 0) return null;
  const { requests, id } = task;
  const isLost = requests.some(({ state }) => state === "unknown");
  return new PartialError(
    `${missing.length} of ${requests.length} images could not be made. ${missing.map(toSentence).join(" ")}`,
    {
      charged: getCharged(task),
      hint: isLost
        ? phrase`To stop tracking what is lost: ${action("dismiss", id)}`
        : "The others are saved.",
    },
  );
}

/** The error for a request that was sent before, and whose reply was lost. */
export function sentBefore(task: Task): OutcomeUnknownError {
  return new OutcomeUnknownError(
    phrase`An identical request (${task.id}) was sent before, and its reply was lost. Nothing was sent now; ${option("again")} submits a new one.`,
    { mentionedTaskId: mentionedTaskId(task) },
  );
}

/** The error if a process that cannot be asked may be submitting the request: in a container, or on another machine. */
export function mayBeSubmitting(task: Task): ClaimedError {
  return new ClaimedError(
    phrase`An identical request (${task.id}) may be in flight on another machine or in a container. Nothing was sent now; ${option("again")} submits a new one.`,
    { charged: getCharged(task) },
  );
}

/** Warning about an old task for the same request. */
export function identicalUnfinished(task: Task): string {
  const [stands, next] =
    freeAt(task.intent) === null
      ? ["charged and unfinished", "submitted and charged too"]
      : ["unfinished", "submitted too"];
  const id = displayId(task);
  return `An identical request of ${task.submittedAt.slice(0, 10)} is ${stands} (task ${id}). This one is ${next}.`;
}
