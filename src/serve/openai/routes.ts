import { readFile } from "node:fs/promises";
import path from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { sha256Hex } from "../../lib/file-digest.ts";
import type { ServiceRequest, Version1 } from "../../server/http.ts";
import type { ServerReply } from "../../server/reply.ts";
import { ANY_MODEL } from "../../task/request.ts";
import { displayId, getCompletion, type Task } from "../../task/task.ts";
import { begin, PREPARE_MS } from "../begin-task.ts";
import { contentDigest } from "../call-records.ts";
import { imageNotes, requestOrigin, resultUrls, toCallRequest } from "../document-api.ts";
import type { TaskEnd } from "../end.ts";
import { keepReference } from "../kept-images.ts";
import { isOwnKey, type Service } from "../serve-options.ts";
import { awaitEnd } from "./await-end.ts";
import { type ImagesRequest, readImagesRequest } from "./images-request.ts";
import { type ImagesOperation, type ImagesResult, sendLongReply } from "./long-reply.ts";
import {
  bugReply,
  errorReply,
  failedTask,
  notBegun,
  notKept,
  notKnown,
  OpenAiError,
  wrongRequest,
} from "./openai-error.ts";

/** The part of OpenAI's API that makes images, below /v1. */
export function openAiRoutes(service: Service): Version1 {
  return async (request, method, key) => {
    try {
      if (key === null || !isOwnKey(key, service))
        throw new OpenAiError(401, "Incorrect API key provided.", { code: "invalid_api_key" });
      const route = ROUTES[request.url.pathname] ?? routeOfModel(request.url.pathname);
      if (route === undefined) throw new OpenAiError(404, "Unknown request URL.");
      if (route.method !== method) throw new OpenAiError(405, `Use ${route.method}.`);
      return await route.answer(request, service);
    } catch (error) {
      return error instanceof OpenAiError ? errorReply(error) : bugReply(error);
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
  "/v1/models": { method: "GET", answer: (_request, service) => models(service) },
};

/** GET /v1/models/<id>. An id may have slashes. */
function routeOfModel(pathname: string): Route | undefined {
  const [, encoded] = /^\/v1\/models\/(.+)$/.exec(pathname) ?? [];
  if (encoded === undefined) return undefined;
  return {
    method: "GET",
    async answer(_request, service) {
      const model = modelObjects(service).find(({ id }) => id === encoded || id === decoded(encoded));
      if (model) return { kind: "json", status: 200, body: model, note: null };
      throw new OpenAiError(404, "There is no such model.", { param: "model", code: "model_not_found" });
    },
  };
}

/** A part of a path without its percent signs; as it is, if they stand for no text. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The list is OpenAI's, but for `free`: whether images cost nothing. */
async function models(service: Service): Promise<ServerReply> {
  const body = { object: "list", data: modelObjects(service), free: await isFree(service) };
  return { kind: "json", status: 200, body, note: null };
}

/** Nodes of a workflow may cost money at a generator that is free. */
async function isFree({ isFree, connection }: Service): Promise<boolean> {
  const { generator, termsFor } = connection;
  if (!isFree) return false;
  try {
    await generator.prepare?.(AbortSignal.timeout(PREPARE_MS));
    return !termsFor({ prompt: "", model: ANY_MODEL }).isPaid;
  } catch {
    return false;
  }
}

function modelObjects({ modelList, connection }: Service) {
  modelList.renew();
  const { name } = connection.generator;
  return modelList.names.map((id) => ({ id, object: "model", created: 0, owned_by: name }));
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
  const { clientRequest, fields, files, isStream } = read;
  const copies: string[] = [];
  for (const bytes of files) {
    const url = await keepReference(bytes, path.join(service.folder, REFERENCES)).catch((error: unknown) => {
      throw new OpenAiError(503, `The image cannot be kept: ${errorText(error)}.`, { code: "disk" });
    });
    if (url === null) throw wrongRequest("An image is not a whole JPEG, PNG or WebP.", "image");
    copies.push(url);
  }
  if (operation === "image_edit" && copies.length === 0 && clientRequest.input.image === undefined)
    throw wrongRequest("image is missing.", "image");
  const { pathname } = request.url;
  const digest = contentDigest("POST", pathname, fields, files.map(sha256Hex));
  const whole = { ...clientRequest, ...(copies.length > 0 && { copies }) };
  const result = await begin(whole, toCallRequest(request, digest, request.signal), service);
  if ("refused" in result) throw notBegun(result.refused);
  const { taskId, delivered } = result;
  return {
    kind: "live",
    note: taskId,
    write(outgoing) {
      outgoing.once("finish", delivered);
      const { clock, keepAliveMs } = service;
      const replyOptions = { taskId, events: isStream ? operation : null, keepAliveMs, clock };
      return sendLongReply(outgoing, replyOptions, (onShare) =>
        answerFor(taskId, read, request, service, onShare).catch((error: unknown) =>
          notKnown(taskId, errorText(error)),
        ),
      );
    },
  };
}

/** @returns null once the client is gone @throws the disk's error */
async function answerFor(
  taskId: string,
  read: ImagesRequest,
  request: ServiceRequest,
  service: Service,
  onShare: (share: number) => void,
): Promise<ImagesResult | OpenAiError | null> {
  const taskEnd = await awaitEnd(taskId, service, request.signal, onShare);
  if (taskEnd === null) return null;
  const { task, end, obstacle } = taskEnd;
  if (end.name === "failed") return failedTask(task, end, obstacle);
  return resultOf(task, end, read, request, service).catch(() => notKept(taskId));
}

/** @throws the disk's error if an image is no longer kept */
async function resultOf(
  task: Task,
  end: Extract<TaskEnd, { name: "completed" }>,
  { responseFormat, warnings }: Pick<ImagesRequest, "responseFormat" | "warnings">,
  request: ServiceRequest,
  service: Service,
): Promise<ImagesResult> {
  const { files, usage } = end;
  const [first] = files;
  const notes = [...warnings, ...imageNotes(displayId(task), end, service)];
  const data =
    responseFormat === "url"
      ? [resultUrls(displayId(task), end, requestOrigin(request), service)].flat().map((url) => ({ url }))
      : files.map(async ({ path }) => ({ b64_json: await readFile(path ?? "", "base64") }));
  return {
    created: Math.floor(Date.parse(getCompletion(task)?.at ?? task.submittedAt) / 1000),
    data: await Promise.all(data),
    ...(first && {
      size: `${first.width}x${first.height}`,
      output_format: first.mediaType.replace("image/", ""),
    }),
    ...(usage !== null && { usage }),
    ...(notes.length > 0 && { warnings: notes }),
  };
}
