import path from "node:path";
import { pathToFileURL } from "node:url";
import { inspectFileAt } from "../../lib/image/inspect.ts";
import { type Reference, referencesFolder } from "../../providers/generator.ts";
import { REQUEST_ID_HEADER } from "../../task/intent.ts";
import { pictureDimensions } from "../dimensions.ts";
import type { ServiceRequest } from "../http.ts";
import { invalidRequest, type SandboxReply, success } from "../reply.ts";
import { newTaskId, taskIdFor } from "../task-id.ts";
import { checkBody, type RequestBody, readJson } from "../valid-request.ts";
import { adopt } from "./adopt.ts";
import { noteUse } from "./kept-files.ts";
import type { GeneratorService } from "./service.ts";

const NO_REFERENCE =
  "A reference image is no URL, or the copy of its file is no longer kept: name the file again.";

/** POST /generate-image (section 4.1). A task is on disk, and in a queue, before its id is returned. */
export async function submit(request: ServiceRequest, service: GeneratorService): Promise<SandboxReply> {
  const { runs, clock, options, tasks } = service;
  if (!runs) return invalidRequest("this process runs no tasks");
  const json = await readJson(request);
  if ("refused" in json) return json.refused;
  // Only what the matrix has a row for is refused by its rules: what else it cannot do, a generator says itself.
  const checked = checkBody(json.json, service.matrix);
  if ("refused" in checked) return checked.refused;
  const { prompt, model = options.model, ratio, quality, maxImages: imageCount = 1 } = checked.request;
  // Other programs have no copies of theirs here.
  const copies = service.adoptsAll ? null : referencesFolder(service.folder);
  const references = readReferences(checked.request, copies);
  if (references === null) return invalidRequest(NO_REFERENCE, { detail: NO_REFERENCE });
  const requestId = request.headers[REQUEST_ID_HEADER];
  const taskId = requestId === undefined ? newTaskId() : taskIdFor(requestId);
  if (requestId !== undefined && (await tasks.find(taskId)) !== null)
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

/**
 * The reference images of a request. A `file:` URL is one of a private copy that the program made.
 * @param folder where such copies are; null where requests name none
 * @returns null if one is neither a copy nor an http, https or data URL
 */
function readReferences({ image = [] }: RequestBody, folder: string | null): Reference[] | null {
  const references = [image].flat().map((url) => readReference(url, folder));
  return references.every((each) => each !== null) ? references : null;
}

function readReference(url: string, folder: string | null): Reference | null {
  if (!URL.canParse(url)) return null;
  const { protocol, pathname } = new URL(url);
  if (/^(?:https?|data):$/.test(protocol)) return { url };
  if (folder === null || protocol !== "file:") return null;
  // Rebuilt from the name alone, so that no other file can be meant.
  const file = path.join(folder, path.posix.basename(pathname));
  if (pathToFileURL(file).href !== url) return null;
  try {
    const inspection = inspectFileAt(file);
    if (!inspection.ok) return null;
    noteUse(file);
    return { file, mediaType: inspection.image.mediaType };
  } catch {
    return null;
  }
}
