import { isClaimed } from "../../lib/claim.ts";
import { adopt } from "../queue/adopt.ts";
import type { QueueView } from "../queue/queue-view.ts";
import type { TaskFolder } from "../queue/task-folder.ts";
import { isEnded, mayBeSent } from "../queue/task-state.ts";
import { invalidRequest, refusal, type SandboxReply, success, unknownError } from "../reply.ts";
import { endedReply } from "./ended-reply.ts";
import type { GeneratorService } from "./service.ts";

/**
 * GET /generate-image (section 4.2). A task whose process is gone continues in this one, where this one runs tasks. Beside
 * the document's fields a reply has `ahead`, `progress`, `detail`, `outcome` and `usage`, and a refusal `detail` and `sent`.
 */
export async function poll(request: Request, service: GeneratorService): Promise<SandboxReply> {
  const taskId = new URL(request.url).searchParams.get("taskId");
  if (taskId === null || taskId === "") return invalidRequest("no taskId");
  const known = service.queue.poll(taskId);
  if (known !== null) return replyOf(taskId, known);
  let folder = await service.tasks.find(taskId);
  if (folder !== null && !isEnded(folder.state) && service.runs) {
    await adopt(taskId, service);
    const view = service.queue.poll(taskId);
    if (view !== null) return replyOf(taskId, view);
    folder = await service.tasks.find(taskId);
  }
  if (folder === null) return unknownError("no such task");
  if (isEnded(folder.state))
    return endedReply(folder.task, folder.state, { ...service, origin: originOf(request) });
  return replyOf(taskId, await viewOfOther(folder, service));
}

/** Where a task stands that this process does not run. */
async function viewOfOther(
  { task, state }: TaskFolder,
  { pause, slots, claims, processes }: GeneratorService,
): Promise<QueueView> {
  if (state.name === "started") return { name: "processing", progress: null, detail: null };
  if (!(await isClaimed(claims, task.taskId, processes))) return { name: "queued", ahead: 0 };
  const paused = await pause.ofLiving();
  if (paused !== null)
    return { name: "paused", key: paused.key, detail: paused.detail, mayBeSent: mayBeSent(state) };
  if (await slots.areTaken()) return { name: "queued", ahead: 0 };
  return { name: "processing", progress: null, detail: null };
}

function replyOf(taskId: string, view: QueueView): SandboxReply {
  if (view.name === "paused")
    return refusal(view.key, { detail: view.detail, ...(view.mayBeSent && { sent: true }) });
  const note = `${taskId} ${view.name}`;
  if (view.name === "queued") {
    return success({ taskId, status: "queued", errorCode: 0, ahead: view.ahead }, note);
  }
  const { progress, detail } = view;
  const more = { ...(progress !== null && { progress }), ...(detail !== null && { detail }) };
  return success({ taskId, status: "processing", errorCode: 0, ...more }, note);
}

/** Where the client reaches this server, which may be a proxy before it. It has shown the key, and asks for itself. */
function originOf({ url, headers }: Request): string {
  const scheme = headers.get("x-forwarded-proto") === "https" ? "https" : "http";
  return `${scheme}://${new URL(url).host}`;
}
