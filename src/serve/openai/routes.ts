import { readFile } from "node:fs/promises";
import path from "node:path";
import type { ErrorType, ImggenError } from "../../lib/error-types.ts";
import type { ServiceRequest, Version1 } from "../../server/http.ts";
import { isSameText } from "../../server/links.ts";
import type { ServerReply } from "../../server/reply.ts";
import { answerOf, completionOf, decidingRequest, displayId, type Task } from "../../task/task.ts";
import { begin } from "../begin-task.ts";
import { IDEMPOTENCY_KEY, linksTo, originOf } from "../document-api.ts";
import { endOf, type TaskEnd } from "../end.ts";
import { keepReference } from "../kept-images.ts";
import type { Service } from "../serve-options.ts";
import { findTask } from "../server-tasks.ts";
import { type ImagesRequest, readImagesRequest } from "./images-request.ts";
import { type ImagesOperation, type ImagesResult, sendLongReply } from "./long-reply.ts";
import { errorReply, failedTask, notBegun, OpenAiError, wrongRequest } from "./openai-error.ts";

/** OpenAI's API below /v1: what of it makes images. */
export function openAiRoutes(service: Service): Version1 {
  return async (request, method, key) => {
    try {
      if (key === null || !isSameText(key, service.apiKey))
        throw new OpenAiError(401, "Incorrect API key provided.", { code: "invalid_api_key" });
      const route = ROUTES[request.url.pathname];
      if (route === undefined) throw new OpenAiError(404, "Unknown request URL.");
      if (route.method !== method) throw new OpenAiError(405, `Use ${route.method}.`);
      return await route.answer(request, service);
    } catch (error) {
      if (error instanceof OpenAiError) return errorReply(error);
      throw error;
    }
  };
}

interface Route {
  method: "GET" | "POST";
  answer: (request: ServiceRequest, service: Service) => Promise<ServerReply>;
}

const ROUTES: Readonly<Record<string, Route | undefined>> = {
  "/v1/images/generations": { method: "POST", answer: (...call) => images("image_generation", ...call) },
  "/v1/images/edits": { method: "POST", answer: (...call) => images("image_edit", ...call) },
  "/v1/models": { method: "GET", answer: async (_request, service) => models(service) },
};

function models({ modelList, defaultModel, connection }: Service): ServerReply {
  const names = modelList.names ?? (defaultModel === null ? [] : [defaultModel]);
  void modelList.lacks("");
  const { name } = connection.generator;
  const data = names.map((id) => ({ id, object: "model", created: 0, owned_by: name }));
  return { kind: "json", status: 200, body: { object: "list", data }, note: null };
}

/** The folder of reference images within that of a server. */
export const REFERENCES = "references";

/** POST /v1/images/generations and /v1/images/edits: answered when the image is there. @throws OpenAiError */
async function images(
  operation: ImagesOperation,
  request: ServiceRequest,
  service: Service,
): Promise<ServerReply> {
  const read = await readImagesRequest(request, service.connection.generator.name.startsWith("openai"));
  const { order, files, isStream } = read;
  const copies: string[] = [];
  for (const bytes of files) {
    const url = await keepReference(bytes, path.join(service.folder, REFERENCES));
    if (url === null) throw wrongRequest("An image is not a whole JPEG, PNG or WebP.", "image");
    copies.push(url);
  }
  if (operation === "image_edit" && copies.length === 0 && order.input.image === undefined)
    throw wrongRequest("image is missing.", "image");
  const key = request.headers[IDEMPOTENCY_KEY];
  const begun = await begin({ ...order, ...(copies.length > 0 && { copies }) }, service, key);
  if ("refused" in begun) throw notBegun(begun.refused);
  const { taskId } = begun;
  return {
    kind: "live",
    note: taskId,
    /** If the client hangs up, the task goes on. */
    write(outgoing) {
      const gone = new AbortController();
      outgoing.once("close", () => gone.abort());
      const how = { taskId, events: isStream ? operation : null, clock: service.clock };
      return sendLongReply(outgoing, how, async () => {
        const ended = await awaitEnd(taskId, key !== undefined, service, gone.signal);
        if (ended === null) return null;
        const { task, end, refusal } = ended;
        if (end.name === "failed") return failedTask(refusal, end);
        return resultOf(task, end, read, request, service).catch(
          () => new OpenAiError(410, "The image of this request is no longer kept."),
        );
      });
    },
  };
}

/** @throws the disk's error if an image is no longer kept */
async function resultOf(
  task: Task,
  end: Extract<TaskEnd, { name: "completed" }>,
  { responseFormat }: Pick<ImagesRequest, "responseFormat">,
  request: ServiceRequest,
  service: Service,
): Promise<ImagesResult> {
  const { files, usage } = end;
  const [first] = files;
  const data =
    responseFormat === "url"
      ? [linksTo(displayId(task), end, originOf(request), service)].flat().map((url) => ({ url }))
      : files.map(async ({ path }) => ({ b64_json: await readFile(path ?? "", "base64") }));
  return {
    created: Math.floor(Date.parse(completionOf(task)?.at ?? task.submittedAt) / 1000),
    data: await Promise.all(data),
    ...(first && {
      size: `${first.width}x${first.height}`,
      output_format: first.mediaType.replace("image/", ""),
    }),
    ...(usage !== null && { usage }),
  };
}

/** How often a task is read: one that this process has is in memory, any other on the disk. */
const READ_MS = 100;
const READ_FROM_DISK_MS = 1_000;

interface Ended {
  task: Task;
  end: TaskEnd;
  /** Type of the error that the task was refused with; null if it was not. */
  refusal: ErrorType | null;
}

/**
 * Waits for the end of a task. If the provider refuses the account, a task waits until that is fixed; one whose client cannot
 * ask for it again is ended, because the client's next attempt is another task.
 * @param comesBack whether the client has a key to find the task by
 * @returns null once the signal has aborted
 */
async function awaitEnd(
  taskId: string,
  comesBack: boolean,
  service: Service,
  signal: AbortSignal,
): Promise<Ended | null> {
  const { runner, gate, clock } = service;
  let refusal: ImggenError | null = null;
  while (!signal.aborted) {
    const isHere = runner.find(taskId)?.isEnded === false;
    const task = isHere ? null : await findTask(taskId, service);
    const end = task && endOf(task);
    if (task && end) return { task, end, refusal: refusal?.type ?? refusalOf(task) };
    const ofAccount = gate.outage?.refusal ?? null;
    if (isHere && ofAccount !== null && !comesBack && (await runner.refuse(taskId, ofAccount.message))) {
      refusal = ofAccount;
      continue;
    }
    await clock.sleep(isHere ? READ_MS : READ_FROM_DISK_MS, signal).catch(() => {});
  }
  return null;
}

function refusalOf(task: Task): ErrorType | null {
  return answerOf(decidingRequest(task), "refused")?.error.type ?? null;
}
