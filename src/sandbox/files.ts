import type { DrawPicture } from "../painter/draw-picture.ts";
import { type FileAddress, readLink } from "../server/links.ts";
import { type ServerReply, unknownError } from "../server/reply.ts";
import type { SandboxService } from "./state/state.ts";
import type { Task } from "./state/tasks.ts";

const ERROR_PAGE = `<!doctype html>
<html lang="en"><head><title>502 Bad Gateway</title></head>
<body><h1>502 Bad Gateway</h1><p>The sandbox was asked for this page in place of an image.</p></body></html>
`;

/** GET /files/<task>/<index>.png: an image, for anyone with its signed URL. It is drawn again for each request. */
export async function serveFile(
  address: FileAddress,
  { secret, tasks, clock, draw }: SandboxService,
): Promise<ServerReply> {
  const link = readLink(address, secret, clock.now());
  if ("refused" in link) return link.refused;
  const task = await tasks.find(link.taskId);
  if (task === null) return unknownError("no such task", { status: 404 });

  if (task.image === "error page")
    return { kind: "page", status: 200, html: ERROR_PAGE, note: "an error page, as asked for" };
  const picture = await pictureOf(task, link.index, draw);
  const png = { kind: "picture", mediaType: "image/png", bytes: null } as const;
  if (task.image === "whole") return { ...png, chunks: picture, cutShort: false, note: null };
  return { ...png, chunks: firstHalf(picture), cutShort: true, note: "cut short, as asked for" };
}

/** The drawing code is loaded with the first image: many runs of the sandbox draw none. */
async function pictureOf(task: Task, index: number, draw?: DrawPicture): Promise<AsyncIterable<Buffer>> {
  const { taskId, prompt, model, references = "", ratio, quality } = task;
  const [drawPicture, { pictureDimensions }] = await Promise.all([
    draw ?? import("../painter/draw-picture.ts").then((module) => module.drawPicture),
    import("../models/dimensions.ts"),
  ]);
  return drawPicture({ prompt, model, references, taskId, index, ...pictureDimensions(ratio, quality) });
}

async function* firstHalf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  const whole = Buffer.concat(all);
  yield whole.subarray(0, whole.length / 2);
}
