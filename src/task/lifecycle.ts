import type { ErrorType } from "../lib/errors.ts";
import type { ProcessIdentity } from "../lib/processes.ts";
import type { Intent } from "./intent.ts";
import type { SavedFile } from "./saved-file.ts";

/** When a task was seen to complete, milliseconds from its acceptance; null where that is not known. */
export interface CompletionTimes {
  seenMs: number | null;
  /** When the last look before still saw it running. */
  pendingMs: number | null;
}

/**
 * One line of a task file. Each is written once and never changed. `until` is a promise to other machines, which cannot
 * ask whether the owner lives: so long it may still be submitting, unless another line says more.
 */
export type TaskEvent =
  /** `id` is the task's own name, in a file that is found under another as well. */
  | ({ type: "intent"; v: number; id?: string; at: string; owner: ProcessIdentity; until?: string } & Intent)
  /** The service answered 429, and the request is submitted again after a wait. */
  | { type: "rate_limited"; at: string; why: string; until: string }
  /** It is about to be submitted again. */
  | { type: "submitting"; at: string; until: string }
  | { type: "not_sent"; at: string; why: string }
  | { type: "refused"; at: string; error: { type: ErrorType; key: string | null; message: string } }
  /** `excerpt` is the beginning of a reply that could not be used, the API key masked. */
  | { type: "unknown"; at: string; why: string; excerpt?: string }
  /** The user has settled what nobody can know; `replacement` is the task that was bought in its place. */
  | { type: "dismissed"; at: string; why: string; replacement: string | null }
  | { type: "accepted"; at: string; taskId: string }
  | ({ type: "completed"; at: string; urls: string[] } & CompletionTimes)
  /** Some of the images are saved and some are not. One entry per result URL; null for an image that is missing. */
  | { type: "partly_saved"; at: string; files: (SavedFile | null)[] }
  | { type: "failed"; at: string; errorCode: string | null }
  | { type: "saved"; at: string; files: SavedFile[] };

/** How far a task has come: what its file's lines add up to. */
export type TaskProgress =
  /** It is being submitted, or its process ended around that, and it may have been accepted. */
  | { status: "intended"; until: string | null }
  /** The service did not take it, and its owner is to submit it again. Where that has ended, nothing was sent. */
  | { status: "rate_limited"; why: string; until: string; isOwnerGone: boolean }
  | { status: "not_sent"; why: string }
  | { status: "refused"; error: { type: ErrorType; key: string | null; message: string } }
  | { status: "unknown"; why: string; excerpt: string | null }
  | { status: "dismissed"; why: string; replacement: string | null }
  | { status: "accepted"; taskId: string; acceptedAt: string }
  | ({ status: "completed"; completedAt: string; urls: string[]; sighting: CompletionTimes } & PartlySaved &
      Accepted)
  | ({ status: "failed"; errorCode: string | null } & Accepted)
  | ({
      status: "saved";
      completedAt: string | null;
      files: SavedFile[];
      sighting: CompletionTimes;
    } & Accepted);

interface Accepted {
  taskId: string;
  acceptedAt: string;
}

interface PartlySaved {
  /** The images that are saved already, by the position of their result URL; null for one that is not. */
  partlySaved: (SavedFile | null)[];
}

/** What one more line makes of the progress so far. Lines that come too late to matter change nothing. */
export function advance(progress: TaskProgress, event: TaskEvent): TaskProgress {
  return "taskId" in progress ? advanceTask(progress, event) : advanceRequest(progress, event);
}

/** Before there is a task: how its submit goes, and how it ended. */
function advanceRequest(progress: TaskProgress, event: TaskEvent): TaskProgress {
  // What the user has settled, or the replacement, is lost to nothing but the task itself.
  if (progress.status === "dismissed" && event.type !== "accepted") return progress;
  const isOpen = progress.status === "intended" || progress.status === "rate_limited";
  switch (event.type) {
    case "rate_limited": {
      const { why, until } = event;
      return isOpen ? { status: "rate_limited", why, until, isOwnerGone: false } : progress;
    }
    case "submitting":
      return isOpen ? { status: "intended", until: event.until } : progress;
    case "not_sent":
      return { status: "not_sent", why: event.why };
    case "refused":
      return { status: "refused", error: event.error };
    case "unknown":
      return { status: "unknown", why: event.why, excerpt: event.excerpt ?? null };
    case "dismissed":
      return { status: "dismissed", why: event.why, replacement: event.replacement };
    case "accepted":
      return { status: "accepted", taskId: event.taskId, acceptedAt: event.at };
    default:
      return progress;
  }
}

const NEVER_SEEN: CompletionTimes = { seenMs: null, pendingMs: null };

/** A task exists, and nothing said of its submit can undo that; nothing at all undoes that it is saved. */
function advanceTask(progress: Extract<TaskProgress, { taskId: string }>, event: TaskEvent): TaskProgress {
  const { taskId, acceptedAt } = progress;
  if (progress.status === "saved") return progress;
  switch (event.type) {
    case "completed":
      return {
        status: "completed",
        taskId,
        acceptedAt,
        completedAt: event.at,
        urls: event.urls,
        sighting: { seenMs: event.seenMs, pendingMs: event.pendingMs },
        partlySaved: progress.status === "completed" ? progress.partlySaved : [],
      };
    case "partly_saved":
      if (progress.status !== "completed") return progress;
      return { ...progress, partlySaved: merged(progress.partlySaved, event.files) };
    case "failed":
      return { status: "failed", taskId, acceptedAt, errorCode: event.errorCode };
    case "saved": {
      const { completedAt, sighting } =
        progress.status === "completed" ? progress : { completedAt: null, sighting: NEVER_SEEN };
      return { status: "saved", taskId, acceptedAt, completedAt, files: event.files, sighting };
    }
    default:
      return progress;
  }
}

function merged(
  before: readonly (SavedFile | null)[],
  now: readonly (SavedFile | null)[],
): (SavedFile | null)[] {
  const longer = before.length > now.length ? before : now;
  return longer.map((_, at) => now[at] ?? before[at] ?? null);
}
