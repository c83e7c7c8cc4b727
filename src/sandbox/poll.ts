import type { DrawPicture } from "../painter/draw-picture.ts";
import type { ServiceRequest } from "../server/http.ts";
import { type FileAddress, LINK_SECONDS, resultUrl, verifyLink } from "../server/links.ts";
import { FAILURE_CODE, invalidRequest, type ServerReply, success, unknownError } from "../server/reply.ts";
import type { Account } from "./state/accounts.ts";
import type { SandboxService } from "./state/state.ts";
import type { Task } from "./state/tasks.ts";

/** GET /generate-image (section 4.2). A task of another account is reported as unknown. */
export async function poll(
  request: ServiceRequest,
  account: Account,
  service: SandboxService,
): Promise<ServerReply> {
  const taskId = request.url.searchParams.get("taskId");
  if (taskId === null || taskId === "") return invalidRequest("no taskId");
  const task = await service.tasks.find(taskId);
  if (task === null || task.account !== account.id) return unknownError("no such task");

  const state = pollState(task, service);
  return success({ taskId, ...state }, `${taskId} ${state.status}`);
}

interface PolledTask {
  status: "processing" | "completed" | "failed";
  resultUrl?: string | string[];
  errorCode: number;
}

/** The document has no status for a running task (section 2.3). Clients treat any unknown status as running. */
function pollState(task: Task, service: SandboxService): PolledTask {
  if (service.clock.now() < task.submittedAt + task.durationMs) return { status: "processing", errorCode: 0 };
  if (task.end === "failed") return { status: "failed", errorCode: FAILURE_CODE };
  return { status: "completed", resultUrl: pollResult(task, service), errorCode: 0 };
}

function pollResult(task: Task, service: SandboxService): string | string[] {
  const seconds = Math.ceil(service.clock.now() / 1000);
  const hasExpired = task.firstUrlExpired && service.tasks.claimFirstResult(task);
  const expires = hasExpired ? seconds - LINK_SECONDS : seconds + LINK_SECONDS;
  const { taskId, imageCount } = task;
  return resultUrl(
    service,
    { taskId, expires },
    Array.from({ length: imageCount }, () => "png"),
  );
}

const ERROR_PAGE = `<!doctype html>
<html lang="en"><head><title>502 Bad Gateway</title></head>
<body><h1>502 Bad Gateway</h1><p>This page replaces the image, because the prompt contains [sandbox:html].</p></body></html>
`;

/** Needs no key, because the URL is signed. Draws the image again for each request. */
export async function serveFile(
  address: FileAddress,
  { secret, tasks, clock, draw }: SandboxService,
): Promise<ServerReply> {
  const link = verifyLink(address, secret, clock.now());
  if ("refused" in link) return link.refused;
  const task = await tasks.find(link.taskId);
  if (task === null) return unknownError("no such task", { status: 404 });

  if (task.image === "error page")
    return { kind: "page", status: 200, html: ERROR_PAGE, note: "error page (injected fault)" };
  const picture = await drawTask(task, link.index, draw);
  const png = { kind: "picture", mediaType: "image/png", bytes: null } as const;
  if (task.image === "whole") return { ...png, chunks: picture, cutShort: false, note: null };
  return { ...png, chunks: firstHalf(picture), cutShort: true, note: "cut short (injected fault)" };
}

/** Imports the drawing code here, because many sandboxes never draw an image. */
async function drawTask(task: Task, index: number, draw?: DrawPicture): Promise<AsyncIterable<Buffer>> {
  const { taskId, prompt, model, references = "", ratio, quality } = task;
  const [drawPicture, { pictureDimensions }] = await Promise.all([
    draw ?? import("../painter/draw-picture.ts").then((module) => module.drawPicture),
    import("../models/dimensions.ts"),
  ]);
  return drawPicture({ prompt, model, references, taskId, index, ...pictureDimensions(ratio, quality) });
}

async function* firstHalf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const received: Buffer[] = [];
  for await (const chunk of chunks) received.push(chunk);
  const image = Buffer.concat(received);
  yield image.subarray(0, image.length / 2);
}
