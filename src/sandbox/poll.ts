import { imageUrl } from "./links.ts";
import { invalidRequest, type SandboxReply, success, unknownError } from "./reply.ts";
import type { SandboxService } from "./service.ts";
import type { Account } from "./state/accounts.ts";
import type { Task } from "./state/tasks.ts";

/** How long a result URL is valid. */
const LINK_SECONDS = 3600;

/** The `errorCode` of a task that a directive makes fail; the document names none. */
const FAILURE_CODE = 1001;

/** GET /generate-image (section 4.2). A task of another account is unknown, like one that does not exist. */
export async function poll(
  request: Request,
  account: Account,
  service: SandboxService,
): Promise<SandboxReply> {
  const taskId = new URL(request.url).searchParams.get("taskId");
  if (taskId === null || taskId === "") return invalidRequest("no taskId");
  const task = await service.tasks.find(taskId);
  if (task === null || task.account !== account.id) return unknownError("no such task");

  const state = await stateOf(task, service);
  return success({ taskId, ...state }, `${taskId} ${state.status}`);
}

interface PolledTask {
  status: "processing" | "completed" | "failed";
  resultUrl?: string | string[];
  errorCode: number;
}

/** Section 2.3. The document names no status for a running task; clients treat any unknown status as running. */
async function stateOf(task: Task, service: SandboxService): Promise<PolledTask> {
  if (service.now() < task.submittedAt + task.durationMs) return { status: "processing", errorCode: 0 };
  if (task.end === "failed") return { status: "failed", errorCode: FAILURE_CODE };
  return { status: "completed", resultUrl: resultUrl(task, service), errorCode: 0 };
}

/** One URL as a string, several as an array. */
function resultUrl(task: Task, service: SandboxService): string | string[] {
  const { origin, secret, tasks } = service;
  const seconds = Math.ceil(service.now() / 1000);
  const isGone = task.firstUrlExpired && tasks.isFirstShowing(task);
  const expires = isGone ? seconds - LINK_SECONDS : seconds + LINK_SECONDS;
  const { taskId } = task;
  const link = (index: number) => imageUrl(origin, { taskId, index, extension: "png", expires }, secret);
  return task.imageCount === 1 ? link(0) : Array.from({ length: task.imageCount }, (_, index) => link(index));
}
