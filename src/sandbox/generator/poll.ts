import { isClaimed } from "../../lib/claim.ts";
import { isJsonObject } from "../../lib/json.ts";
import type { Usage } from "../../task/lifecycle.ts";
import type { ServiceRequest } from "../http.ts";
import { LINK_SECONDS, resultUrl } from "../links.ts";
import type { QueueView } from "../queue/entries.ts";
import type { QueuedTask, TaskFolder } from "../queue/task-folder.ts";
import { type EndedState, isEnded, mayBeSent, type StoredImage } from "../queue/task-state.ts";
import { FAILURE_CODE, invalidRequest, refusal, type SandboxReply, success, unknownError } from "../reply.ts";
import { adopt } from "./adopt.ts";
import type { GeneratorService } from "./service.ts";

/**
 * GET /generate-image (section 4.2). A task whose process is gone continues in this one, where this one runs tasks. Beside
 * the document's fields a reply has `ahead`, `progress`, `detail`, `outcome` and `usage`, and a refusal `detail` and `sent`.
 */
export async function poll(request: ServiceRequest, service: GeneratorService): Promise<SandboxReply> {
  const taskId = request.url.searchParams.get("taskId");
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
function originOf({ url, headers }: ServiceRequest): string {
  const scheme = headers["x-forwarded-proto"] === "https" ? "https" : "http";
  return `${scheme}://${url.host}`;
}

type LinkFacts = Pick<GeneratorService, "secret" | "clock"> & { origin: string };

/** What a poll says of a task that has ended. */
export function endedReply(task: QueuedTask, state: EndedState, service: LinkFacts): SandboxReply {
  const { taskId } = task;
  const note = `${taskId} ${state.name}`;
  if (state.name === "failed") {
    const { outcome, detail } = state.failure;
    return success({ taskId, status: "failed", errorCode: FAILURE_CODE, outcome, detail }, note);
  }
  const usage = addUsage(state.images.map((image) => image.usage).filter((each) => each !== null));
  const detail = remarksOn(task, state);
  const expires = Math.ceil(service.clock.now() / 1000) + LINK_SECONDS;
  const extensions = state.images.map(({ extension }) => extension);
  return success(
    {
      taskId,
      status: "completed",
      resultUrl: resultUrl(service, { taskId, expires }, extensions),
      errorCode: 0,
      ...(usage !== null && { usage }),
      ...(detail !== "" && { detail }),
    },
    note,
  );
}

type Asked = Pick<QueuedTask, "ratio" | "quality" | "width" | "height">;
type Size = Pick<StoredImage, "width" | "height">;

/** Generators round sizes, some to steps of 64. */
const ROUNDED_PX = 64;

/** Differences between a completed task and its request, in sentences; "" for none. */
export function remarksOn(
  task: Asked,
  { images, failures }: Extract<EndedState, { name: "completed" }>,
): string {
  const sizes = new Set(images.filter((image) => isOther(task, image)).map(sizeText));
  const remarks = [...sizes].map((size) => `Requested ${sizeText(task)} pixels, received ${size}.`);
  return [...failures.map(({ detail }) => detail), ...remarks].join(" ");
}

/** Any size will do where a request names neither a ratio nor a quality, or leaves the ratio to the generator. */
function isOther({ ratio, quality, width, height }: Asked, image: Size): boolean {
  if (ratio === "auto" || (ratio === undefined && quality === undefined)) return false;
  return Math.max(Math.abs(width - image.width), Math.abs(height - image.height)) > ROUNDED_PX;
}

function sizeText({ width, height }: Size): string {
  return `${width}×${height}`;
}

/** What several images took together: numbers are added up, and what is no number is kept from the first that has it. */
function addUsage(usages: readonly Usage[]): Usage | null {
  if (usages.length === 0) return null;
  return usages.reduce((sum, usage) => add(sum, usage));
}

function add(sum: Usage, usage: Usage): Usage {
  const names = new Set([...Object.keys(sum), ...Object.keys(usage)]);
  return Object.fromEntries([...names].map((name) => [name, addValue(sum[name], usage[name])]));
}

function addValue(a: unknown, b: unknown): unknown {
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (isJsonObject(a) && isJsonObject(b)) return add(a, b);
  return a ?? b;
}
