import { remarksOn } from "../core/images/remarks.ts";
import { factsOf } from "../core/engine/report.ts";
import { sentence } from "../lib/short-text.ts";
import type { Usage } from "../task/task.ts";
import { isUnknown, isUnsaved, type Task } from "../task/task.ts";
import type { SavedFile } from "../task/saved-file.ts";

/** How a task ended, for clients. */
export type TaskEnd =
  /** `missing`: why images are missing. `remarks`: how the images differ from the request. */
  | { name: "completed"; files: SavedFile[]; usage: Usage | null; missing: string[]; remarks: string[] }
  /** `unknown`: it may have been charged. */
  | { name: "failed"; outcome: "refused" | "unknown"; detail: string };

/** How a task has ended; null while there is something to do for it. */
export function endOf(record: Task): TaskEnd | null {
  const { state } = record;
  switch (state.name) {
    case "saved":
      return completed(record);
    case "completed":
      // Every image is saved, and the outcome of its other requests is unknown.
      return isUnknown(record) && !isUnsaved(record) ? completed(record) : null;
    case "unknown":
    case "dismissed":
      return { name: "failed", outcome: "unknown", detail: detailOf(record, state.why) };
    case "failed":
      return { name: "failed", outcome: "refused", detail: detailOf(record, state.why ?? "It failed.") };
    case "refused":
      return { name: "failed", outcome: "refused", detail: sentence(state.error.message) };
    case "not_sent":
      return { name: "failed", outcome: "refused", detail: sentence(state.why) };
    case "intent":
    case "rate_limited":
    case "waiting":
    case "started":
    case "accepted":
      return null;
  }
}

function completed(record: Task): TaskEnd {
  const { files, usage = null, missing = [] } = factsOf(record);
  return {
    name: "completed",
    files,
    usage,
    missing: missing.map(sentence),
    remarks: remarksOn(record, files),
  };
}

function detailOf({ requests }: Task, why: string): string {
  const kept = requests.flatMap((state) => (state.name === "unknown" && state.kept ? [state.kept] : []));
  return kept.length === 0 ? sentence(why) : `${sentence(why)} What arrived is kept on the server.`;
}
