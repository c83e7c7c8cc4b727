import { reportStatus, type TaskReport } from "../../core/task/report.ts";
import { type ReuseSpec, reuseEarlier } from "../../core/task/reuse.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { Session } from "../app/session.ts";
import { withTasks } from "./with-tasks.ts";

/** The already charged task that `--reuse` finds; null if the request is new. */
export function reuse(
  request: GenerationRequest,
  options: ReuseSpec,
  requestTimeoutMs: number | undefined,
  session: Session,
): Promise<TaskReport | null> {
  return withTasks(session, { requestTimeoutMs }, async ({ current }) =>
    reuseEarlier(request, options, await current()),
  );
}

/** Says on standard error that a task was reused, where its outcome is known. */
export async function noteReuse(report: TaskReport, session: Session): Promise<void> {
  if (reportStatus(report) === "unknown") return;
  const which = report.taskId ?? report.ledgerId ?? "";
  await session.console.note(`Already charged as task ${which}: nothing was charged now.`);
}
