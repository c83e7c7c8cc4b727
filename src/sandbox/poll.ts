import type { ServiceRequest } from "../server/http.ts";
import { LINK_SECONDS, resultUrl } from "../server/links.ts";
import { FAILURE_CODE, invalidRequest, type ServerReply, success, unknownError } from "../server/reply.ts";
import type { Account } from "./state/accounts.ts";
import type { SandboxService } from "./state/state.ts";
import type { Task } from "./state/tasks.ts";

/** GET /generate-image (section 4.2). A task of another account is unknown, like one that does not exist. */
export async function poll(
  request: ServiceRequest,
  account: Account,
  service: SandboxService,
): Promise<ServerReply> {
  const taskId = request.url.searchParams.get("taskId");
  if (taskId === null || taskId === "") return invalidRequest("no taskId");
  const task = await service.tasks.find(taskId);
  if (task === null || task.account !== account.id) return unknownError("no such task");

  const state = stateOf(task, service);
  return success({ taskId, ...state }, `${taskId} ${state.status}`);
}

interface PolledTask {
  status: "processing" | "completed" | "failed";
  resultUrl?: string | string[];
  errorCode: number;
}

/** Section 2.3. The document names no status for a running task; clients treat any unknown status as running. */
function stateOf(task: Task, service: SandboxService): PolledTask {
  if (service.clock.now() < task.submittedAt + task.durationMs) return { status: "processing", errorCode: 0 };
  if (task.end === "failed") return { status: "failed", errorCode: FAILURE_CODE };
  return { status: "completed", resultUrl: resultOf(task, service), errorCode: 0 };
}

function resultOf(task: Task, service: SandboxService): string | string[] {
  const seconds = Math.ceil(service.clock.now() / 1000);
  const isGone = task.firstUrlExpired && service.tasks.isFirstShowing(task);
  const expires = isGone ? seconds - LINK_SECONDS : seconds + LINK_SECONDS;
  const { taskId, imageCount } = task;
  return resultUrl(
    service,
    { taskId, expires },
    Array.from({ length: imageCount }, () => "png"),
  );
}
