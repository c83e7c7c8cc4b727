import { ServiceError } from "../../api/errors.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { TaskReport } from "./report.ts";

/** The error key for a task that the service does not know (section 7). */
const NO_SUCH_TASK = "image_generation.error.unknown_error";

/**
 * A report on an id that only the user has named. Where the service refuses it too, or was not asked, nothing was
 * charged and there is nothing to resume.
 */
export function settledUnknownId(report: TaskReport): TaskReport {
  const { error, ledgerId, taskId } = report;
  if (ledgerId !== null || error === null) return report;
  const nothing = { ...report, state: "unknown", charged: "no" } as const;
  if (error.type === "usage") return nothing;
  if (error.type !== "service_error" || error.key === null) return report;
  const what = error.key === NO_SUCH_TASK ? `The service does not know task ${taskId}.` : error.message;
  const hint = "Nothing was charged. To see the tasks of this machine: imggen history";
  return { ...nothing, error: new ServiceError(what, { key: error.key, hint, cause: error }) };
}

/** An empty id is most often a shell variable that is not set. @throws UsageError */
export function requireId(id: string): void {
  if (id.trim() !== "") return;
  const hint = "Nothing was sent. To see the tasks of this machine: imggen history";
  throw new UsageError("A task id is empty.", { hint });
}
