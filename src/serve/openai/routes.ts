import { readFile } from "node:fs/promises";
import path from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { sha256Hex } from "../../lib/file-digest.ts";
import type { ServiceRequest, Version1Handler } from "../../server/http.ts";
import type { ServerReply } from "../../server/reply.ts";
import { ANY_MODEL } from "../../task/request.ts";
import { displayId, getCompletion, type Task } from "../../task/task.ts";
import { begin, PREPARE_TIMEOUT_MS } from "../begin-task.ts";
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
  failedTaskError,
  invalidRequestError,
  missingImageError,
  notBegunError,
  OpenAiError,
  unknownOutcomeError,
} from "./openai-error.ts";

export function openAiRoutes(service: Service): Version1Handler {
  return async (request, method, key) => {
    try {
      if (key === null || !isOwnKey(key, service))
        throw new OpenAiError(401, "Incorrect API key provided.", { code: "invalid_api_key" });
      const route = ROUTES[request.url.pathname] ?? findModelRoute(request.url.pathname);
      if (route === undefined) throw new OpenAiError(404, "Unknown request URL.");
      if (route.method !== method) throw new OpenAiError(405, `Use ${route.method}.`);
      return await route.reply(request, service);
    } catch (error) {
      return error instanceof OpenAiError ? errorReply(error) : bugReply(error);
    }
  };
}

interface Route {
  method: "GET" | "POST";
  reply: (request: ServiceRequest, service: Service) => Promise<ServerReply>;
}

const ROUTES: Readonly<Record<string, Route | undefined>> = {
  "/v1/images/generations": { method: "POST", reply: (...call) => createImages("image_generation", ...call) },
  "/v1/images/edits": { method: "POST", reply: (...call) => createImages("image_edit", ...call) },
  "/v1/models": { method: "GET", reply: (_request, service) => listModels(service) },
};

function findModelRoute(pathname: string): Route | undefined {
  const [, encoded] = /^\/v1\/models\/(.+)$/.exec(pathname) ?? [];
  if (encoded === undefined) return undefined;
  return {
    method: "GET",
    async reply(_request, service) {
      const model = modelObjects(service).find(({ id }) => id === encoded || id === decodeIfValid(encoded));
      if (model) return { kind: "json", status: 200, body: model, note: null };
      throw new OpenAiError(404, "There is no such model.", { param: "model", code: "model_not_found" });
    },
  };
}

function decodeIfValid(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the models in OpenAI's form, with an additional field `free`: whether images cost nothing. */
async function listModels(service: Service): Promise<ServerReply> {
  const body = { object: "list", data: modelObjects(service), free: await isFree(service) };
  return { kind: "json", status: 200, body, note: null };
}

/** Whether images cost nothing. Nodes of a workflow can cost money even if the generator is free. */
async function isFree({ isFree, connection }: Service): Promise<boolean> {
  const { generator, termsFor } = connection;
  if (!isFree) return false;
  try {
    await generator.prepare?.(AbortSignal.timeout(PREPARE_TIMEOUT_MS));
    return !termsFor({ prompt: "", model: ANY_MODEL }).isPaid;
  } catch {
    return false;
  }
}

function modelObjects({ modelList, connection }: Service) {
  modelList.refreshIfOld();
  const { name } = connection.generator;
  return modelList.names.map((id) => ({ id, object: "model", created: 0, owned_by: name }));
}

export const REFERENCES_FOLDER = "references";

/** Handles POST /v1/images/generations and /v1/images/edits. @throws OpenAiError */
async function createImages(
  operation: ImagesOperation,
  request: ServiceRequest,
  service: Service,
): Promise<ServerReply> {
  const imagesRequest = await readImagesRequest(
    request,
    service.connection.generator.name.startsWith("openai"),
  );
  const { clientRequest, fields, files, isStream } = imagesRequest;
  const copies: string[] = [];
  for (const bytes of files) {
    const url = await keepReference(bytes, path.join(service.folder, REFERENCES_FOLDER)).catch(
      (error: unknown) => {
        throw new OpenAiError(503, `The image cannot be stored: ${errorText(error)}.`, { code: "disk" });
      },
    );
    if (url === null) throw invalidRequestError("An image is not a complete JPEG, PNG or WebP.", "image");
    copies.push(url);
  }
  if (operation === "image_edit" && copies.length === 0 && clientRequest.input.image === undefined)
    throw invalidRequestError("image is missing.", "image");
  const { pathname } = request.url;
  const digest = contentDigest("POST", pathname, fields, files.map(sha256Hex));
  const requestWithCopies = { ...clientRequest, ...(copies.length > 0 && { copies }) };
  const result = await begin(requestWithCopies, toCallRequest(request, digest, request.signal), service);
  if ("refused" in result) throw notBegunError(result.refused);
  const { taskId, recordDelivery } = result;
  return {
    kind: "live",
    note: taskId,
    write(outgoing) {
      outgoing.once("finish", recordDelivery);
      const { clock, keepAliveMs } = service;
      const replyOptions = { taskId, events: isStream ? operation : null, keepAliveMs, clock };
      return sendLongReply(outgoing, replyOptions, (onShare) =>
        awaitResult(taskId, imagesRequest, request, service, onShare).catch((error: unknown) =>
          unknownOutcomeError(taskId, errorText(error)),
        ),
      );
    },
  };
}

/** @returns null if the client has disconnected @throws the disk's error */
async function awaitResult(
  taskId: string,
  imagesRequest: ImagesRequest,
  request: ServiceRequest,
  service: Service,
  onShare: (share: number) => void,
): Promise<ImagesResult | OpenAiError | null> {
  const taskEnd = await awaitEnd(taskId, service, request.signal, onShare);
  if (taskEnd === null) return null;
  const { task, end, obstacle } = taskEnd;
  if (end.name === "failed") return failedTaskError(task, end, obstacle);
  return toImagesResult(task, end, imagesRequest, request, service).catch(() => missingImageError(taskId));
}

async function toImagesResult(
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
