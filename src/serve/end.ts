import { taskFacts } from "../core/engine/report.ts";
import { remarksOn } from "../core/images/remarks.ts";
import { toSentence } from "../lib/short-text.ts";
import type { Usage } from "../task/line.ts";
import type { SavedFile } from "../task/saved-file.ts";
import {
  CANCELLED,
  decidingRequest,
  getAnswer,
  getSavedFiles,
  isAllGone,
  isUnknown,
  isUnsaved,
  type Task,
} from "../task/task.ts";

/** The end of a task, for clients. */
export type TaskEnd =
  /** `missing`: reasons for missing images. `remarks`: differences between the images and the request. */
  | { name: "completed"; files: SavedFile[]; usage: Usage | null; missing: string[]; remarks: string[] }
  /** `unknown`: it may have been charged. */
  | { name: "failed"; outcome: "refused" | "unknown"; detail: string };

/** The end of a task; null while there is something to do for it. */
export function endOf(task: Task): TaskEnd | null {
  const deciding = decidingRequest(task);
  switch (task.state) {
    case "saved":
      return completed(task);
    case "completed":
      // Every image is saved, and the outcome of its other requests is unknown.
      return isUnknown(task) && !isUnsaved(task) ? completed(task) : gone(task);
    case "unknown":
      return unknown(task, getAnswer(deciding, "unknown")?.why ?? "The reply to its request was lost.");
    case "dismissed":
      return unknown(task, task.dismissal?.why ?? "It was dismissed.");
    case "failed":
      return refused(withReplyNote(task, getAnswer(deciding, "failed")?.why ?? "It failed."));
    case "cancelled":
      return refused(toSentence(CANCELLED));
    case "refused":
      return refused(toSentence(getAnswer(deciding, "refused")?.error.message ?? "It was refused."));
    case "not_sent":
      return refused(toSentence(deciding.notSentReason ?? "It was not sent."));
    case "accepted":
      return gone(task);
    case "waiting":
    case "started":
      return null;
  }
}

/** The end of a task none of whose open requests its provider knows any longer: `resume` asks for it. */
function gone(task: Task): TaskEnd | null {
  const why = isAllGone(task) ? decidingRequest(task).attempt?.goneReason : null;
  if (why == null) return null;
  const detail = `Its provider no longer has it: ${why}`;
  if (getSavedFiles(task).length > 0) return completed(task, [detail]);
  return task.intent.isPaid ? unknown(task, detail) : refused(toSentence(detail));
}

/** Whether certainly nothing of a task was sent, so that its client may repeat the request. */
export function isUnsent({ state, requests }: Pick<Task, "state" | "requests">): boolean {
  return state === "not_sent" && requests.every(({ possibleSubmits }) => possibleSubmits === 0);
}

function refused(detail: string): TaskEnd {
  return { name: "failed", outcome: "refused", detail };
}

function unknown(task: Task, why: string): TaskEnd {
  return { name: "failed", outcome: "unknown", detail: withReplyNote(task, why) };
}

/** @param gone why images are missing that its provider no longer has */
function completed(task: Task, gone: string[] = []): TaskEnd {
  const { files, usage = null, missing = [] } = taskFacts(task);
  return {
    name: "completed",
    files,
    usage,
    missing: [...missing, ...gone].map(toSentence),
    remarks: remarksOn(task, files),
  };
}

function withReplyNote({ requests }: Task, why: string): string {
  const isKept = requests.some((request) => getAnswer(request, "unknown")?.kept !== undefined);
  return isKept ? `${toSentence(why)} What arrived is kept on the server.` : toSentence(why);
}
