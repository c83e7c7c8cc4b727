import { type SubmitSpec, submitRequest } from "../../client/submit-request.ts";
import type { WorkspaceOptions } from "../../client/workspace.ts";
import type { TaskReport } from "../../core/task/report.ts";
import type { Session } from "../app/session.ts";
import { createProgress } from "../output/task-progress.ts";
import { withTasksShown } from "./with-tasks.ts";

/** Submits one request and shows how it gets on. @throws what `submitRequest` throws; nothing was sent */
export async function submitShown(
  spec: SubmitSpec,
  options: WorkspaceOptions,
  session: Session,
): Promise<TaskReport> {
  const progress = await createProgress(session.console, session.context, spec.checked);
  return withTasksShown(session, options, progress, async ({ current }) =>
    submitRequest(spec, await current(), (message) => session.console.warn(message)),
  );
}
