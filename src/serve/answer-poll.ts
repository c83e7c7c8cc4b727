import path from "node:path";
import type { RunnerTask } from "../core/engine/queued-task.ts";
import type { ServiceRequest } from "../server/http.ts";
import { LINK_SECONDS, resultUrl } from "../server/links.ts";
import {
  type ErrorKey,
  FAILURE_CODE,
  invalidRequest,
  refusal,
  type ServerReply,
  success,
  unknownError,
} from "../server/reply.ts";
import type { Task } from "../task/task.ts";
import { endOf, type TaskEnd } from "./end.ts";
import type { Service } from "./serve-options.ts";
import { findTask } from "./server-tasks.ts";

/**
 * GET /generate-image (section 4.2), from what is known: the provider is not asked. Beside the document's fields a reply
 * has `ahead`, `progress`, `detail`, `outcome` and `usage`, and a refusal `detail`.
 */
export async function poll(request: ServiceRequest, service: Service): Promise<ServerReply> {
  const taskId = request.url.searchParams.get("taskId");
  if (taskId === null || taskId === "") return invalidRequest("no taskId");
  const here = service.runner.find(taskId);
  if (here !== null && !here.isEnded) return openReply(taskId, here, service);
  const task = await findTask(taskId, service);
  if (task === null) return unknownError("no such task");
  const end = endOf(task);
  return end === null ? elsewhereReply(taskId, task) : endedReply(taskId, end, originOf(request), service);
}

/** A task that this process has. */
function openReply(taskId: string, here: RunnerTask, { runner, gate }: Service): ServerReply {
  const { task, share, waiting, error } = here;
  // A task that an earlier process has sent waits no longer.
  if (here.isSubmitted || task.state !== "waiting") {
    const progress = share !== null && { progress: share };
    return success({ taskId, status: "processing", errorCode: 0, ...progress }, `${taskId} processing`);
  }
  const { outage } = gate;
  if (outage?.refusal) return refusal(keyOf(outage.refusal.key), { detail: outage.refusal.message });
  const detail = outage?.why ?? (waiting === null ? error?.message : `It waits for ${waiting.holder}.`);
  const ahead = runner.aheadOf(taskId);
  return success(
    { taskId, status: "queued", errorCode: 0, ahead, ...(detail !== undefined && { detail }) },
    `${taskId} queued`,
  );
}

/** The document has two keys for what is wrong with an account. */
function keyOf(key: string | null): ErrorKey {
  return key === "login_required" ? key : "my_credits.no_credits_description";
}

/** A task that another process has, or this one will have in a moment. */
function elsewhereReply(taskId: string, { state }: Task): ServerReply {
  const status = state === "waiting" ? "queued" : "processing";
  const ahead = status === "queued" && { ahead: 0 };
  return success({ taskId, status, errorCode: 0, ...ahead }, `${taskId} ${status}`);
}

/** Where the client reaches this server, which may be a proxy before it. It has shown the key, and asks for itself. */
export function originOf({ url, headers }: Pick<ServiceRequest, "url" | "headers">): string {
  const scheme = headers["x-forwarded-proto"] === "https" ? "https" : "http";
  return `${scheme}://${url.host}`;
}

function endedReply(taskId: string, end: TaskEnd, origin: string, service: Service): ServerReply {
  const note = `${taskId} ${end.name}`;
  if (end.name === "failed") {
    const { outcome, detail } = end;
    return success({ taskId, status: "failed", errorCode: FAILURE_CODE, outcome, detail }, note);
  }
  const { usage } = end;
  const detail = [...end.missing, ...end.remarks].join(" ");
  return success(
    {
      taskId,
      status: "completed",
      resultUrl: linksTo(taskId, end, origin, service),
      errorCode: 0,
      ...(usage !== null && { usage }),
      ...(detail !== "" && { detail }),
    },
    note,
  );
}

/** The signed URL of a task's one image; several as an array. */
export function linksTo(
  taskId: string,
  { files }: Extract<TaskEnd, { name: "completed" }>,
  origin: string,
  { secret, clock }: Pick<Service, "secret" | "clock">,
): string | string[] {
  const expires = Math.ceil(clock.now() / 1000) + LINK_SECONDS;
  const extensions = files.map((file) => path.extname(file.path ?? "").slice(1));
  return resultUrl({ origin, secret }, { taskId, expires }, extensions);
}
