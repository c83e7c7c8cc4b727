import {
  type AcceptedState,
  type AttemptState,
  NEVER_SEEN,
  type TaskEvent,
  type TaskState,
} from "./lifecycle.ts";
import type { SavedFile } from "./saved-file.ts";

/** What one more line makes of the state so far. Lines that come too late to matter change nothing. */
export function advance(state: TaskState, event: TaskEvent): TaskState {
  return "acceptedAt" in state ? advanceTask(state, event) : advanceRequest(state, event);
}

/** Before there is a task: how its submit goes, and how it ended. */
function advanceRequest(state: Exclude<TaskState, AcceptedState>, event: TaskEvent): TaskState {
  // A dismissed or replaced request changes its state only if it turns out that the service accepted it.
  if (state.name === "dismissed" && event.type !== "accepted") return state;
  const isSubmitting = state.name === "intent" || state.name === "rate_limited";
  switch (event.type) {
    case "waiting":
    case "started":
    case "taken_over":
      return "tries" in state ? advanceAttempts(state, event) : state;
    case "rate_limited": {
      const { why, until } = event;
      return isSubmitting ? { name: "rate_limited", why, until, isOwnerGone: false } : state;
    }
    case "submitting":
      return isSubmitting ? { name: "intent", until: event.until } : state;
    case "not_sent":
      return wasMade(state) ? state : { name: "not_sent", why: event.why };
    case "refused":
      return wasMade(state) ? state : { name: "refused", error: event.error };
    case "unknown":
      return unknown(event, ownIdOf(state), wasMade(state));
    case "dismissed":
      return { name: "dismissed", why: event.why, replacement: event.replacement };
    case "accepted":
      return { name: "accepted", taskId: event.taskId, acceptedAt: event.at };
    case "completed":
    case "failed": {
      // A provider that answers with the image itself gives no id: ours stands for it.
      const taskId = ownIdOf(state);
      if (taskId === null) return state;
      const next = advanceTask({ name: "accepted", taskId, acceptedAt: event.at }, event);
      return wasMade(state) ? withoutRefund(next) : next;
    }
    case "intent":
    case "partly_saved":
    case "saved":
      return state;
    case "released":
      return "by" in state ? { ...state, by: null } : state;
  }
}

/** Our own id of a task that may still be made; null if it has none. */
function ownIdOf(state: Exclude<TaskState, AcceptedState>): string | null {
  if (state.name === "unknown") return state.ownId;
  return "tries" in state ? state.taskId : null;
}

function advanceAttempts(
  state: AttemptState,
  event: Extract<TaskEvent, { type: "waiting" | "started" | "taken_over" }>,
): TaskState {
  const { taskId } = state;
  const until = event.until ?? null;
  if (event.type === "taken_over") return { ...state, by: event.by, until };
  if (event.type === "started")
    return { name: "started", taskId, tries: state.tries + 1, by: event.by, until };
  const tries = state.name === "started" && !event.sent ? state.tries - 1 : state.tries;
  return { name: "waiting", taskId, tries, why: event.why ?? null, by: event.by ?? null, until };
}

function unknown(
  { why, excerpt, kept }: Extract<TaskEvent, { type: "unknown" }>,
  ownId: string | null,
  wasMade: boolean,
): TaskState {
  return { name: "unknown", why, excerpt: excerpt ?? null, kept: kept ?? null, ownId, wasMade };
}

function wasMade(state: TaskState): boolean {
  return state.name === "completed" || (state.name === "unknown" && state.wasMade);
}

/** Whether a failure can say that nothing was charged: what was made, or has failed without that word, may have been. */
function mayBeFree(state: TaskState): boolean {
  return !wasMade(state) && (state.name !== "failed" || state.charged === "no");
}

/** The state without the word that nothing was charged: what was made once may have been, whatever is said of it later. */
function withoutRefund(state: TaskState): TaskState {
  if (state.name !== "failed") return state;
  const { charged: _, ...failed } = state;
  return failed;
}

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
        ...(event.charged && mayBeFree(state) && { charged: event.charged }),
        partlySaved: "partlySaved" in state ? state.partlySaved : [],
      };
    case "saved": {
      const { completedAt, observed } =
        state.name === "completed" ? state : { completedAt: null, observed: NEVER_SEEN };
      const usage = state.name === "completed" ? state.usage : undefined;
      const saved = { taskId, acceptedAt, completedAt, files: event.files, observed };
      return { name: "saved", ...saved, ...(usage && { usage }) };
    }
    case "unknown":
      // What a reply on this disk holds turned out to be no image.
      return isHere(state) ? unknown(event, taskId, true) : state;
    case "dismissed":
    case "intent":
    case "waiting":
    case "started":
    case "taken_over":
    case "rate_limited":
    case "submitting":
    case "not_sent":
    case "refused":
    case "accepted":
    case "released":
      return state;
  }
}

/** Whether what was made is on this disk, in the task's folder, and not at URLs of its provider. */
function isHere(state: TaskState): boolean {
  return state.name === "completed" && state.urls.length === 0;
}

function merged(
  before: readonly (SavedFile | null)[],
  now: readonly (SavedFile | null)[],
): (SavedFile | null)[] {
  const longer = before.length > now.length ? before : now;
  return longer.map((_, at) => now[at] ?? before[at] ?? null);
}
