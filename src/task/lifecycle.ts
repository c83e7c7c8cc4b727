import type { Charged, ErrorType } from "../lib/error-types.ts";
import type { ProcessIdentity } from "../lib/processes.ts";
import type { Intent } from "./intent.ts";
import type { SavedFile } from "./saved-file.ts";

/**
 * A task's life, from its intent to its saved files: every state, and what is known in it. Ledger lines, reports, batch
 * rows, history and JSON are views of this union. Each is derived in one place that names every state, so that a new
 * one does not compile until all of them know it.
 */
export type TaskState =
  /** It is being submitted, or its process ended around that, and it may have been accepted. */
  | { name: "intent"; until: string | null }
  /** The service did not take it, and its owner is to submit it again. Where that has ended, nothing was sent. */
  | ({ name: "rate_limited"; isOwnerGone: boolean } & Facts["rate_limited"])
  | ({ name: "not_sent" } & Facts["not_sent"])
  | ({ name: "refused" } & Facts["refused"])
  /** It was sent, and its reply was lost. */
  | { name: "unknown"; why: string; excerpt: string | null }
  /** The user has stopped tracking it, although it is not known whether it was charged. */
  | ({ name: "dismissed" } & Facts["dismissed"])
  | ({ name: "accepted" } & Accepted)
  /** The service has finished it. Its images are still to be saved, some of them perhaps. */
  | ({ name: "completed"; urls: string[]; partlySaved: (SavedFile | null)[] } & Completed<string> &
      Spent &
      Accepted)
  /** The service has ended it, and cannot say whether it was charged: its generator's reply was lost. */
  | ({ name: "lost" } & Facts["lost"] & Accepted)
  /** Images that were saved before the service called it failed are still files. */
  | ({ name: "failed"; partlySaved: (SavedFile | null)[] } & Facts["failed"] & Accepted)
  /** All of its images are files, whole under their final names. */
  | ({ name: "saved" } & Facts["saved"] & Completed<string | null> & Spent & Accepted);

export type StateName = TaskState["name"];

/** A state in which the service has the task. */
export type AcceptedState = Extract<TaskState, Accepted>;

interface Accepted {
  taskId: string;
  acceptedAt: string;
}

interface Completed<Time> {
  completedAt: Time;
  observed: CompletionTimes;
}

/** What the user's own generator says of cost and tokens, in its own words. */
export type Usage = Readonly<Record<string, unknown>>;

interface Spent {
  usage?: Usage;
}

/** When a task was seen to complete, milliseconds from its acceptance; null if that is not known. */
export interface CompletionTimes {
  seenMs: number | null;
  /** When the last poll before still saw it running. */
  pendingMs: number | null;
}

/**
 * One line of a task file: it led to a state, or adds to one. Each is written once and never changed. Its `type` is
 * the state's name.
 */
export type TaskEvent = { [Type in EventType]: { type: Type; at: string } & Facts[Type] }[EventType];

export type EventType = StateName | "submitting" | "partly_saved" | "released";

/**
 * What each line says beside its type and time. Until the time in `until`, other machines, which cannot check whether the
 * owner is alive, must assume that it is still submitting, unless a later line says otherwise.
 */
interface Facts {
  /** `id` is the task's own name: its file may have a second name, that of a batch's claim. */
  intent: { v: number; id?: string; owner: ProcessIdentity; until?: string } & Intent;
  /** The service answered 429, and the request is submitted again after a wait. */
  rate_limited: { why: string; until: string };
  /** It is about to be submitted again: back to `intent`. */
  submitting: { until: string };
  not_sent: { why: string };
  refused: { error: { type: ErrorType; key: string | null; message: string } };
  /** `excerpt` is the beginning of a reply that could not be used, the API key masked. */
  unknown: { why: string; excerpt?: string };
  /** `replacement` is the task that was submitted in its place. */
  dismissed: { why: string; replacement: string | null };
  accepted: { taskId: string };
  completed: { urls: string[] } & CompletionTimes & Spent;
  /** It stays `completed`. One entry per result URL; null for an image that is missing. */
  partly_saved: { files: (SavedFile | null)[] };
  /** `why`: the words of the user's own generator. `charged`: what is known for certain, if anything is. */
  failed: { errorCode: string | null; why?: string; charged?: "no" };
  lost: { why: string };
  saved: { files: SavedFile[] };
  /** The process that began it has stopped working on it. It stays in its state. */
  released: Record<never, never>;
}

/**
 * What each state has cost, and whether there is something left to do, so that its file is among the unfinished. That
 * a failed task is refunded, the service's document does not say.
 */
export const STATES: Readonly<Record<StateName, { charged: Charged; isOpen: boolean }>> = {
  intent: { charged: "unknown", isOpen: true },
  rate_limited: { charged: "unknown", isOpen: true },
  not_sent: { charged: "no", isOpen: false },
  refused: { charged: "no", isOpen: false },
  unknown: { charged: "unknown", isOpen: true },
  dismissed: { charged: "unknown", isOpen: false },
  accepted: { charged: "yes", isOpen: true },
  completed: { charged: "yes", isOpen: true },
  lost: { charged: "unknown", isOpen: true },
  failed: { charged: "unknown", isOpen: false },
  saved: { charged: "yes", isOpen: false },
};

/** The effective state: a rate-limited request whose owner has exited counts as not sent. */
export function effectiveState(state: TaskState): StateName {
  return state.name === "rate_limited" && state.isOwnerGone ? "not_sent" : state.name;
}

/** What a task has cost, as far as its lines say. */
export function chargedIn(state: TaskState): Charged {
  if (state.name === "failed" && state.charged !== undefined) return state.charged;
  return STATES[effectiveState(state)].charged;
}

/** Whether `resume` can take a task in this state further: it is charged, and not saved. */
export function isResumable(name: StateName): boolean {
  return STATES[name].isOpen && STATES[name].charged === "yes";
}

/** What one more line makes of the state so far. Lines that come too late to matter change nothing. */
export function advance(state: TaskState, event: TaskEvent): TaskState {
  return "taskId" in state ? advanceTask(state, event) : advanceRequest(state, event);
}

/** Before there is a task: how its submit goes, and how it ended. */
function advanceRequest(state: TaskState, event: TaskEvent): TaskState {
  // A dismissed or replaced request changes its state only if it turns out that the service accepted it.
  if (state.name === "dismissed" && event.type !== "accepted") return state;
  const isSubmitting = state.name === "intent" || state.name === "rate_limited";
  switch (event.type) {
    case "rate_limited": {
      const { why, until } = event;
      return isSubmitting ? { name: "rate_limited", why, until, isOwnerGone: false } : state;
    }
    case "submitting":
      return isSubmitting ? { name: "intent", until: event.until } : state;
    case "not_sent":
      return { name: "not_sent", why: event.why };
    case "refused":
      return { name: "refused", error: event.error };
    case "unknown":
      return { name: "unknown", why: event.why, excerpt: event.excerpt ?? null };
    case "dismissed":
      return { name: "dismissed", why: event.why, replacement: event.replacement };
    case "accepted":
      return { name: "accepted", taskId: event.taskId, acceptedAt: event.at };
    case "intent":
    case "completed":
    case "partly_saved":
    case "lost":
    case "failed":
    case "saved":
    case "released":
      return state;
  }
}

const NEVER_SEEN: CompletionTimes = { seenMs: null, pendingMs: null };

/** Once a task is accepted, no later event of its submit changes that; once it is saved, no event does. */
function advanceTask(state: AcceptedState, event: TaskEvent): TaskState {
  const { taskId, acceptedAt } = state;
  if (state.name === "saved") return state;
  switch (event.type) {
    case "completed":
      return {
        name: "completed",
        taskId,
        acceptedAt,
        completedAt: event.at,
        urls: event.urls,
        observed: { seenMs: event.seenMs, pendingMs: event.pendingMs },
        ...(event.usage && { usage: event.usage }),
        partlySaved: state.name === "completed" ? state.partlySaved : [],
      };
    case "partly_saved":
      if (state.name !== "completed") return state;
      return { ...state, partlySaved: merged(state.partlySaved, event.files) };
    case "failed":
      return {
        name: "failed",
        taskId,
        acceptedAt,
        errorCode: event.errorCode,
        ...(event.why !== undefined && { why: event.why }),
        ...(event.charged && { charged: event.charged }),
        partlySaved: "partlySaved" in state ? state.partlySaved : [],
      };
    case "lost":
      return { name: "lost", taskId, acceptedAt, why: event.why };
    case "dismissed":
      return state.name === "lost"
        ? { name: "dismissed", why: event.why, replacement: event.replacement }
        : state;
    case "saved": {
      const { completedAt, observed } =
        state.name === "completed" ? state : { completedAt: null, observed: NEVER_SEEN };
      const usage = state.name === "completed" ? state.usage : undefined;
      const saved = { taskId, acceptedAt, completedAt, files: event.files, observed };
      return { name: "saved", ...saved, ...(usage && { usage }) };
    }
    case "intent":
    case "rate_limited":
    case "submitting":
    case "not_sent":
    case "refused":
    case "unknown":
    case "accepted":
    case "released":
      return state;
  }
}

function merged(
  before: readonly (SavedFile | null)[],
  now: readonly (SavedFile | null)[],
): (SavedFile | null)[] {
  const longer = before.length > now.length ? before : now;
  return longer.map((_, at) => now[at] ?? before[at] ?? null);
}
