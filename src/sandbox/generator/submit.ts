import { REQUEST_ID_HEADER } from "../../task/intent.ts";
import { isJsonType, readBody as readJson } from "../body.ts";
import { pictureDimensions } from "../dimensions.ts";
import { adopt } from "../queue/adopt.ts";
import { invalidRequest, type SandboxReply, success } from "../reply.ts";
import { newTaskId, taskIdFor } from "../task-id.ts";
import { readBody, readReferences } from "./read-request.ts";
import type { GeneratorService } from "./service.ts";

const NO_REFERENCE =
  "A reference image is no URL, or the copy of its file is no longer kept: name the file again.";

/** POST /generate-image (section 4.1). A task is on disk, and in a queue, before its id is returned. */
export async function submit(request: Request, service: GeneratorService): Promise<SandboxReply> {
  const { runs, clock, options, tasks } = service;
  if (!runs) return invalidRequest("this process runs no tasks");
  if (!isJsonType(request.headers.get("content-type"))) {
    return invalidRequest("the Content-Type is not application/json", { status: 415 });
  }
  const json = await readJson(request);
  if ("problem" in json) return invalidRequest(json.problem);
  const read = readBody(json.json, service.matrix);
  if ("refused" in read) return read.refused;
  const { prompt, model = options.model, ratio, quality, maxImages: imageCount = 1 } = read.valid;
  const references = readReferences(read.valid, service.references);
  if (references === null) return invalidRequest(NO_REFERENCE, { detail: NO_REFERENCE });
  const requestId = request.headers.get(REQUEST_ID_HEADER);
  const taskId = requestId === null ? newTaskId() : taskIdFor(requestId);
  if (requestId !== null && (await tasks.find(taskId)) !== null)
    return success({ taskId }, `${taskId} again`);
  await tasks.add({
    taskId,
    submittedAt: clock.now(),
    model,
    prompt,
    ratio,
    quality,
    ...pictureDimensions(ratio, quality, options.sidePx),
    references,
    fields: options.fields,
    imageCount,
    isPaid: options.isPaid,
  });
  // The task exists by now: whatever goes wrong here, its id must be known.
  await adopt(taskId, service).catch(() => {});
  return success({ taskId }, `${taskId} ${model ?? ""}`.trimEnd());
}
