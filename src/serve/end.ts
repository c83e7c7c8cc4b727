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
  isGone,
  isOnlyGoneOrUnknown,
  isUnknown,
  isUnsaved,
  type Task,
} from "../task/task.ts";

export type TaskEnd =
  /** `missing`: reasons why images are missing. `remarks`: differences between the images and the request. */
  | { name: "completed"; files: SavedFile[]; usage: Usage | null; missing: string[]; remarks: string[] }
  | { name: "failed"; outcome: "refused" | "unknown"; detail: string };

/** Returns null while the task is unfinished. */
export function getTaskEnd(task: Task): TaskEnd | null {
  const request = decidingRequest(task);
  switch (task.state) {
    case "saved":
      return completedEnd(task);
    case "completed":
      // All images that arrived are saved, but the outcome of other requests is unknown.
      return isUnknown(task) && !isUnsaved(task) ? completedEnd(task) : missingJobEnd(task);
    case "unknown":
      return unknownEnd(task, getAnswer(request, "unknown")?.why ?? "The reply to the request was lost.");
    case "dismissed":
      return unknownEnd(task, task.dismissal?.why ?? "The task was dismissed.");
    case "failed":
      return refusedEnd(withReplyNote(task, getAnswer(request, "failed")?.why ?? "The task failed."));
    case "cancelled":
      return refusedEnd(toSentence(CANCELLED));
    case "refused":
      return refusedEnd(
        toSentence(getAnswer(request, "refused")?.error.message ?? "The request was refused."),
      );
    case "not_sent":
      return refusedEnd(toSentence(request.notSentReason ?? "The request was not sent."));
    case "accepted":
      return missingJobEnd(task);
    case "waiting":
    case "started":
      return null;
  }
}

function missingJobEnd(task: Task): TaskEnd | null {
  if (!isOnlyGoneOrUnknown(task)) return null;
  const [why] = task.requests.flatMap((request) =>
    isGone(request) ? (request.attempt?.goneReason ?? []) : [],
  );
  if (why === undefined) return null;
  const detail = `The provider no longer has the job: ${why}`;
  if (getSavedFiles(task).length > 0) return completedEnd(task, [detail]);
  return task.intent.isPaid ? unknownEnd(task, detail) : refusedEnd(toSentence(detail));
}

/** Whether certainly nothing was sent. If so, the client can repeat the request without a second charge. */
export function isUnsent({ state, requests }: Pick<Task, "state" | "requests">): boolean {
  return state === "not_sent" && requests.every(({ possibleSubmits }) => possibleSubmits === 0);
}

function refusedEnd(detail: string): TaskEnd {
  return { name: "failed", outcome: "refused", detail };
}

function unknownEnd(task: Task, why: string): TaskEnd {
  return { name: "failed", outcome: "unknown", detail: withReplyNote(task, why) };
}

function completedEnd(task: Task, extraReasons: string[] = []): TaskEnd {
  const { files, usage = null, missing = [] } = taskFacts(task);
  return {
    name: "completed",
    files,
    usage,
    missing: [...missing, ...extraReasons].map(toSentence),
    remarks: remarksOn(task, files),
  };
}

function withReplyNote({ requests }: Task, why: string): string {
  const isKept = requests.some((request) => getAnswer(request, "unknown")?.kept !== undefined);
  return isKept ? `${toSentence(why)} The reply is stored on the server.` : toSentence(why);
}
