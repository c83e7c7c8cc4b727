import type { Charged, ErrorType } from "../lib/error-types.ts";
import type { ProcessIdentity } from "../lib/processes.ts";
import type { Intent } from "./intent.ts";
import type { SavedFile } from "./saved-file.ts";

/**
 * A task's life, from its intent to its saved files: every state, and what is known in it. Ledger lines, reports, batch
 * rows, history and JSON are views of this union. Each is derived in one place that names every state, so that a new
 * one does not compile until all of them know it. A task of several requests has such a life for each of them, and its
 * own state follows from theirs (`record.ts`).
 */
export type TaskState =
  /** A task at the hosted service that is being submitted, or whose process ended around that: it may have been accepted. */
  | { name: "intent"; until: string | null }
  /** A task at any other provider with no request on its way: it waits for its turn, or to be sent again. */
  | ({ name: "waiting"; why: string | null } & Attempts)
  /** A task at any other provider whose request is on its way, or whose process ended around that. */
  | ({ name: "started" } & Attempts)
  /** The service did not take it, and its owner is to submit it again. Where that has ended, nothing was sent. */
  | ({ name: "rate_limited"; isOwnerGone: boolean } & Facts["rate_limited"])
  | ({ name: "not_sent" } & Facts["not_sent"])
  | ({ name: "refused" } & Facts["refused"])
  /** It was sent, and its reply was lost, or cannot be used. */
  | ({ name: "unknown"; why: string; excerpt: string | null } & Lost)
  /** The user has stopped tracking it, although it is not known whether it was charged. */
  | ({ name: "dismissed" } & Facts["dismissed"])
  | ({ name: "accepted" } & Accepted)
  /** It is made: at result URLs, or in the task's folder. Its images are still to be saved, some of them perhaps. */
  | ({ name: "completed"; urls: string[]; partlySaved: (SavedFile | null)[] } & Completed<string> &
      Spent &
      Accepted)
  /** Images that were saved before the service called it failed are still files. */
  | ({ name: "failed"; partlySaved: (SavedFile | null)[] } & Facts["failed"] & Accepted)
  /** All of its images are files, whole under their final names. */
  | ({ name: "saved" } & Facts["saved"] & Completed<string | null> & Spent & Accepted);

export type StateName = TaskState["name"];

/** A state in which the provider has the task, or has had it. */
export type AcceptedState = Extract<TaskState, Accepted>;

/** A state before or while its request is sent, at another provider than the hosted service. */
export type AttemptState = Extract<TaskState, Attempts>;

interface Attempts {
  /** Our own id of the task. */
  taskId: string;
  /** How many requests may have reached the other side. */
  tries: number;
  /** The process that has it in hand, until the time in `until`; null: none. */
  by: ProcessIdentity | null;
  until: string | null;
}

interface Accepted {
  taskId: string;
  acceptedAt: string;
}

interface Lost {
  /** Where what arrived is kept; null if nothing is. */
  kept: string | null;
  /** Our own id of the task; null at the hosted service. */
  ownId: string | null;
  /** Whether its provider had answered with success: nothing can show any more that it was free. */
  wasMade: boolean;
}

interface Completed<Time> {
  completedAt: Time;
  observed: CompletionTimes;
}

/** What a provider says of cost and tokens, in its own words. */
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

export type EventType = StateName | "taken_over" | "submitting" | "partly_saved" | "released";

/** Which of a task's requests a line is about, from 0. Absent: the only one. */
export interface OfRequest {
  request?: number;
}

/**
 * What each line says beside its type and time. Until the time in `until`, other machines, which cannot check whether the
 * owner is alive, must assume that it is still submitting, unless a later line says otherwise.
 */
interface Facts {
  /** `id` is the task's own name: its file may have a second name, that of a batch's claim. */
  intent: { v: number; id?: string; owner: ProcessIdentity; until?: string } & Intent;
  /** `sent`: whether a request of it may have reached the other side since it last waited. */
  waiting: { why?: string; sent: boolean; by?: ProcessIdentity; until?: string } & OfRequest;
  /** Is on disk before the request is sent: from here on it counts as sent. */
  started: { by: ProcessIdentity; until: string } & OfRequest;
  /** Another process waits for what is still on its way. */
  taken_over: { by: ProcessIdentity; until: string } & OfRequest;
  /** The service answered 429, and the request is submitted again after a wait. */
  rate_limited: { why: string; until: string };
  /** It is about to be submitted again: back to `intent`. */
  submitting: { until: string };
  not_sent: { why: string } & OfRequest;
  refused: { error: { type: ErrorType; key: string | null; message: string; hint?: string } } & OfRequest;
  /** `excerpt` is the beginning of a reply that could not be used, the API key masked. */
  unknown: { why: string; excerpt?: string; kept?: string } & OfRequest;
  /** `replacement` is the task that was submitted in its place. */
  dismissed: { why: string; replacement: string | null };
  accepted: { taskId: string } & OfRequest;
  completed: { urls: string[] } & CompletionTimes & Spent & OfRequest;
  /** It stays `completed`. One entry per image; null for an image that is missing. */
  partly_saved: { files: (SavedFile | null)[] };
  /** `why`: the provider's words. `charged`: what is known for certain, if anything is. */
  failed: { errorCode: string | null; why?: string; charged?: "no" } & OfRequest;
  saved: { files: SavedFile[] };
  /** The process that began it has stopped working on it. It stays in its state. */
  released: Record<never, never>;
}

/** Where an open task stands, in the words that users read. */
export type OpenWord = "waiting" | "running" | "accepted" | "made";

interface StateFacts {
  /** What it has cost at the hosted service. The document does not say that a failed task is refunded. */
  charged: Charged;
  /** Whether there is something left to do, so that its file is among the unfinished. */
  isOpen: boolean;
  /** Where it stands, if `resume` can take it further. */
  word: OpenWord | null;
}

export const STATES: Readonly<Record<StateName, StateFacts>> = {
  intent: { charged: "unknown", isOpen: true, word: null },
  waiting: { charged: "no", isOpen: true, word: "waiting" },
  started: { charged: "unknown", isOpen: true, word: "running" },
  rate_limited: { charged: "unknown", isOpen: true, word: null },
  not_sent: { charged: "no", isOpen: false, word: null },
  refused: { charged: "no", isOpen: false, word: null },
  unknown: { charged: "unknown", isOpen: true, word: null },
  dismissed: { charged: "unknown", isOpen: false, word: null },
  accepted: { charged: "yes", isOpen: true, word: "accepted" },
  completed: { charged: "yes", isOpen: true, word: "made" },
  failed: { charged: "unknown", isOpen: false, word: null },
  saved: { charged: "yes", isOpen: false, word: null },
};

/** Where an open task stands, also where only the user can decide what becomes of it. */
export type StateWord = OpenWord | "unknown";

/** The word for a task in this state, the same wherever users read it; null for one that is at its end. */
export function stateWord(name: StateName): StateWord | null {
  const { word, isOpen } = STATES[name];
  return word ?? (isOpen ? "unknown" : null);
}

/** All of them, in the order of a task's life. */
export const STATE_WORDS: readonly StateWord[] = ["waiting", "running", "accepted", "made", "unknown"];

/** The effective state: a rate-limited request whose owner has exited counts as not sent. */
export function effectiveState(state: TaskState): StateName {
  return state.name === "rate_limited" && state.isOwnerGone ? "not_sent" : state.name;
}

/** The images of a task that are files by now, though not all of them may be. */
export function savedFilesOf(state: TaskState): SavedFile[] {
  if (state.name === "saved") return state.files;
  return "partlySaved" in state ? state.partlySaved.filter((file) => file !== null) : [];
}

/** Whether `resume` can take a task in this state further. */
export function isResumable(name: StateName): boolean {
  return STATES[name].word !== null;
}

export const NEVER_SEEN: CompletionTimes = { seenMs: null, pendingMs: null };
