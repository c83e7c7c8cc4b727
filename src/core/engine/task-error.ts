import { GenerationFailedError, NetworkError, OutcomeUnknownError } from "../../api/api-errors.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { toSentence } from "../../lib/short-text.ts";
import { action, isWording, option, phrase, type Wording } from "../../lib/wording.ts";
import { taskIdIn } from "../../providers/service/replies.ts";
import { type FreeProvider, getFreeProvider } from "../../task/intent.ts";
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

/** Returns the reason for each request without an image, if the task has other images. */
export function missingReasons({ state, requests }: Pick<Task, "state" | "requests">): string[] {
  if (state !== "completed" && state !== "saved") return [];
  return requests.flatMap((request, at) => {
    const why = missingReason(request);
    return why === null ? [] : [`image ${at + 1}: ${why}`];
  });
}

function missingReason(request: RequestState): string | null {
  switch (request.state) {
    case "refused":
      return getAnswer(request, "refused")?.error.message ?? "it was refused";
    case "unknown": {
      const unknownAnswer = getAnswer(request, "unknown");
      return `it may have been charged, and cannot be saved: ${unknownAnswer?.why}${keptClause(unknownAnswer?.kept)}`;
    }
    case "failed":
      return getAnswer(request, "failed")?.why ?? "it failed";
    case "cancelled":
      return CANCELLED;
    case "not_sent":
      return request.notSentReason;
    case "dismissed":
      return "it was dismissed";
    default:
      return null;
  }
}

function keptClause(file: string | undefined): string {
  return file === undefined ? "" : `; the reply is kept in ${file}`;
}

export function taskError(task: Task): ImggenError | null {
  const { id, intent, state } = task;
  const decidingState = decidingRequest(task);
  const name = getTaskId(task) ?? id;
  switch (state) {
    case "unknown": {
      const unknownAnswer = getAnswer(decidingState, "unknown");
      const why = unknownAnswer?.why ?? "its reply was lost";
      if (intent.taskId !== null)
        return new OutcomeUnknownError(
          `Task ${name} may have been charged, and has no image: ${why}${keptClause(unknownAnswer?.kept)}.`,
        );
      // Earlier releases recorded a whole sentence as the reason.
      const isSentence = why.startsWith("The request was sent");
      const explanation = isSentence
        ? why.replace("The request", `Request ${id}`)
        : `Request ${id} was sent, but whether it was accepted is not known: ${why}`;
      return new OutcomeUnknownError(toSentence(explanation), {
        mentionedTaskId: mentionedTaskId(task),
      });
    }
    case "not_sent": {
      return neverSubmittedError(id, decidingState.notSentReason ?? "");
    }
    case "refused": {
      const refusal = getAnswer(decidingState, "refused");
      if (refusal === null) return neverSubmittedError(id, "it was refused");
      const { type, key, message, hint } = refusal.error;
      return new InheritedError(type, message, {
        key: key ?? undefined,
        hint: isWording(hint) ? hint : undefined,
      });
    }
    case "cancelled":
      return taskFailedError(name, {
        errorCode: null,
        why: `${CANCELLED}.`,
        ...(getCharged(task) === "no" && { charged: "no" }),
      });
    case "failed": {
      const { errorCode = null, why } = getAnswer(decidingState, "failed") ?? {};
      const isFree = getCharged(task) === "no";
      return taskFailedError(name, {
        errorCode,
        ...(why !== undefined && { why }),
        ...(isFree && { charged: "no" }),
      });
    }
    case "completed":
    case "saved":
      return partialError(task);
    case "accepted": {
      const goneReason = task.requests.find((each) => each.state === "accepted" && isGone(each))?.attempt
        ?.goneReason;
      return goneReason == null ? null : noLongerKnownError(task, goneReason);
    }
    case "waiting":
    case "started":
    case "dismissed":
      return null;
  }
}

/** Error for an accepted task that its provider no longer has. A free task waits to be submitted again. */
export function noLongerKnownError(task: Task, why: string): ImggenError {
  if (!task.intent.isPaid)
    return new PendingError(`Task ${displayId(task)} waits to be submitted again: ${toSentence(why)}`, {
      charged: "no",
      hint: phrase`To submit it again: ${action("resume")}`,
    });
  return new OutcomeUnknownError(
    `Task ${getTaskId(task) ?? task.id} is no longer known to the service: ${toSentence(why)}`,
    {
      charged: getCharged(task),
      hint: [
        phrase`The task stays unfinished. To poll it again: ${action("resume")}`,
        phrase`\nTo stop tracking it: ${action("dismiss", task.id)}`,
      ],
    },
  );
}

/** Returns the task id in an unusable reply, which might be the id of this task. */
export function mentionedTaskId(task: Task): string | null {
  return taskIdIn(getAnswer(decidingRequest(task), "unknown")?.excerpt ?? null);
}

export const ENDED_BEFORE_SUBMIT = "imggen ended before it could submit it";

/** Returns advice with the command that submits a request again, in the sandbox for a task of the sandbox. */
export function resubmitAdvice(ledgerId: string | null, free: FreeProvider | undefined): Wording[] {
  const charge = free ? "" : ", at a new charge";
  if (ledgerId === null) return [];
  return [phrase`To submit it again${charge}: ${action("rerun", ledgerId, free === "sandbox")}`];
}

function neverSubmittedError(id: string, why: string): NetworkError {
  return new NetworkError(`Request ${id} was never sent: ${why}`);
}

interface TaskFailure {
  errorCode: string | null;
  why?: string;
  /** Absent for the service, because its document does not define whether a failed task is refunded. */
  charged?: "no";
}

export function taskFailedError(
  taskId: string,
  { errorCode, why, charged }: TaskFailure,
): GenerationFailedError {
  const facts = {
    charged: charged ?? ("unknown" as const),
    hint: charged === "no" ? "Nothing was charged, and it is not sent again." : undefined,
  };
  if (why !== undefined) return new GenerationFailedError(`Task ${taskId} has no image: ${why}`, facts);
  const code = errorCode === null ? "" : ` (error code ${errorCode})`;
  return new GenerationFailedError(`The service could not finish task ${taskId}${code}.`, facts);
}

function partialError(task: Task): PartialError | null {
  const missing = missingReasons(task);
  if (missing.length === 0) return null;
  const { requests, id } = task;
  const isLost = requests.some(({ state }) => state === "unknown");
  return new PartialError(
    `${missing.length} of ${requests.length} images could not be generated. ${missing.map(toSentence).join(" ")}`,
    {
      charged: getCharged(task),
      hint: isLost
        ? phrase`To stop tracking lost images: ${action("dismiss", id)}`
        : "The other images are saved.",
    },
  );
}

export function sentBeforeError(task: Task): OutcomeUnknownError {
  return new OutcomeUnknownError(
    phrase`An identical request (${task.id}) was sent before, and its reply was lost. Nothing was sent now; ${option("again")} submits a new one.`,
    { mentionedTaskId: mentionedTaskId(task) },
  );
}

/** Error if a process in a container or on another machine might be submitting the same request. */
export function maybeSubmittingError(task: Task): ClaimedError {
  return new ClaimedError(
    phrase`An identical request (${task.id}) may be in flight on another machine or in a container. Nothing was sent now; ${option("again")} submits a new one.`,
    { charged: getCharged(task) },
  );
}

export function identicalUnfinishedWarning(task: Task): string {
  const [status, next] =
    getFreeProvider(task.intent) === null
      ? ["charged and unfinished", "submitted and charged too"]
      : ["unfinished", "submitted too"];
  const id = displayId(task);
  return `An identical request of ${task.submittedAt.slice(0, 10)} is ${status} (task ${id}). This one is ${next}.`;
}
