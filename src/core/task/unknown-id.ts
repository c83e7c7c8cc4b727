import { ServiceError } from "../../api/errors.ts";
import type { TaskReport } from "./report.ts";

/** What the service answers for a task that it does not know: no other of its keys would say so (section 7). */
const NO_SUCH_TASK = "image_generation.error.unknown_error";

/**
 * A report on an id that only the user has named. Where the service does not know it either, or was not asked, nothing
 * was charged and there is nothing to resume.
 */
export function settledUnknownId(report: TaskReport): TaskReport {
  const { error, ledgerId, taskId } = report;
  if (ledgerId !== null || error === null) return report;
  const nothing = { ...report, state: "unknown", charged: "no" } as const;
  if (error.type === "usage") return nothing;
  if (error.key !== NO_SUCH_TASK) return report;
  const said = new ServiceError(`The service does not know task ${taskId}.`, {
    key: error.key,
    hint: "Nothing was charged. To see the tasks of this machine: imggen history",
    cause: error,
  });
  return { ...nothing, error: said };
}
