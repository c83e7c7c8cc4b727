import { inspectBytes } from "../../lib/image/inspect.ts";
import { fieldsOf, isJsonObject, jsonOrNull } from "../../lib/json.ts";
import { isModeration, readErrorBody } from "../failed-reply.ts";
import { decodeImage, findOtherImages, type ReplyImage } from "../found-images.ts";
import type { ProviderDeps, ServerSetup } from "../kind.ts";
import type { Job, Provider, SubmitOptions } from "../provider.ts";
import { ProviderServer } from "../provider-http.ts";
import { parseLenientJson, parseReplyJson } from "../reply-json.ts";
import {
  imagesOrNone,
  type JobContext,
  type ReadReply,
  type ServiceRequest,
  serviceProvider,
} from "../service.ts";
import { isSuccess, type StoredReply } from "../stored-reply.ts";
import { encodeBody, type ImageRequest, imageRequest } from "./openai-request.ts";
import { findServerForm, type ServerForm } from "./server-forms.ts";
import { isGptImage } from "./size.ts";

/** Sends `POST <base>/images/generations`, or `/images/edits` if the request has reference images. */
export function openAiProvider(
  setup: ServerSetup,
  deps: ProviderDeps,
  form = findServerForm(setup.url),
): Provider {
  const server = new ProviderServer(setup, deps);
  const requests = new Requests(server, form, setup.options.fieldNames.seed);
  return serviceProvider(
    setup,
    server,
    {
      supports: ["prompt", "model", "ratio", "image", "maxImages", "quality", "seed", "negative", "fields"],
      check: findProblem,
      isSizedByReference: true,
      request: (job, context) => requests.describe(job, context),
      send: (job, submitOptions, context) => requests.send(job, submitOptions, context),
      read: readReply,
      models: { path: "/models", namesIn: (json) => modelNames(json, form) },
    },
    deps,
  );
}

/** Refuses a seed or negative prompt for OpenAI's models, because these models refuse unknown fields. */
function findProblem({
  request: { seed, negative },
  options: { model },
}: Pick<Job, "request" | "options">): string | null {
  if (!isGptImage(model) || (seed === undefined && negative === undefined)) return null;
  return `${model} does not support a seed or a negative prompt.`;
}

/** Sends requests, without the optional fields that the server has refused. */
class Requests {
  readonly #server: ProviderServer;
  readonly #seedField: string | undefined;
  #form: ServerForm;
  /** Keys of refused fields. A key contains the model, because a server can refuse a field for one model only. */
  readonly #refused = new Set<string>();

  constructor(server: ProviderServer, form: ServerForm, seedField: string | undefined) {
    this.#server = server;
    this.#seedField = seedField;
    this.#form = form;
  }

  async describe(job: Job, context: JobContext): Promise<ServiceRequest> {
    const { path, fields, files } = await imageRequest(job, { ...context, form: this.#form });
    const names = files.map(({ standIn }) => standIn);
    const image = names.length === 1 ? names[0] : names;
    return { path, body: { ...fields, ...(names.length > 0 && { image }) } };
  }

  /** @throws ProviderError, or a file system error if a reference image cannot be read */
  async send(job: Job, submitOptions: SubmitOptions, context: JobContext): Promise<StoredReply> {
    const request = await imageRequest(job, { ...context, form: this.#form });
    let reply = await this.#post(request, job, submitOptions);
    // A reply that refuses a field is not charged, so imggen is allowed to repeat the request without the field.
    while (this.#recordsRefusal(reply, request, job)) reply = await this.#post(request, job, submitOptions);
    if (request.files.length > 0 && reply.status === 404 && (await this.#isLocalAi(submitOptions.signal))) {
      this.#form = { ...this.#form, references: "ref_images" };
      return this.send(job, submitOptions, context);
    }
    return reply;
  }

  async #post(request: ImageRequest, job: Job, submitOptions: SubmitOptions): Promise<StoredReply> {
    const remaining = Object.entries(request.fields).filter(
      ([name]) => Object.hasOwn(job.options.fields, name) || !this.#refused.has(refusalKey(request, name)),
    );
    const body = encodeBody({ ...request, fields: Object.fromEntries(remaining) }, this.#seedField);
    return this.#server.post(request.path, body, job, submitOptions);
  }

  /** Whether the server is LocalAI, which has no `/images/edits` and alone lists capabilities of models. */
  async #isLocalAi(signal: AbortSignal): Promise<boolean> {
    const reply = await this.#server.get("/models/capabilities", signal).catch(() => null);
    return reply !== null && isSuccess(reply) && Array.isArray(fieldsOf(jsonOrNull(reply.body)).data);
  }

  /** Returns whether the server refused an optional field of imggen. If so, the next request omits the field. */
  #recordsRefusal(reply: StoredReply, request: ImageRequest, { options: { fields } }: Job): boolean {
    if (reply.status !== 400 && reply.status !== 422) return false;
    const errorBody = readErrorBody(reply.body.toString("utf8"));
    if (isModeration(errorBody)) return false;
    const refused = OPTIONAL_FIELDS.filter((name) => name in request.fields && !Object.hasOwn(fields, name))
      .filter((name) => !this.#refused.has(refusalKey(request, name)))
      .find((name) =>
        errorBody.field === null ? mentionsName(name, errorBody.words ?? "") : errorBody.field === name,
      );
    if (refused === undefined) return false;
    for (const name of OMITTED_TOGETHER[refused]) this.#refused.add(refusalKey(request, name));
    return true;
  }
}

function modelNames(json: unknown, { isOpenAi }: ServerForm): string[] | null {
  const list = Array.isArray(json) ? json : fieldsOf(json).data;
  if (!Array.isArray(list)) return null;
  const models = list.filter(isJsonObject).filter(({ type = "image" }) => type === "image");
  const names = models.map(({ id }) => id).filter((id) => typeof id === "string");
  return isOpenAi ? names.filter((name) => /image/.test(name)) : names;
}

/** Fields that a server might refuse. `readReply` also supports the replies to requests without these fields. */
const OPTIONAL_FIELDS = ["response_format", "partial_images", "stream"] as const;
const OMITTED_TOGETHER = {
  response_format: ["response_format"],
  partial_images: ["partial_images"],
  stream: ["stream", "partial_images"],
} as const;

const REFUSAL =
  /\b(?:unknown|un?supported|unrecogni[sz]ed|unexpected|invalid|extra|not (?:supported|permitted|allowed|recogni[sz]ed)|must be verified)\b/i;

function mentionsName(name: string, words: string): boolean {
  const pattern = new RegExp(`\\b${name}\\b`);
  return words.split(/[.;] /).some((clause) => pattern.test(clause) && REFUSAL.test(clause));
}

function refusalKey({ fields }: ImageRequest, name: string): string {
  return `${name} ${fields.model}`;
}

/**
 * Reads JSON with `b64_json` or a URL, an event stream, or the bytes of an image.
 * An incomplete reply is valid if its JSON is complete.
 */
export function readReply(reply: StoredReply, job: Job): ReadReply | null {
  const { headers, body, cut } = reply;
  const type = String(headers["content-type"] ?? "");
  if ((cut === null && type.startsWith("image/") && body.length > 0) || inspectBytes(body).ok)
    return imagesOrNone([{ bytes: body }], null, "");
  const text = body.toString("utf8");
  if (isEventStream(type, text)) {
    const finalParts = readFinalEvents(text);
    return finalParts === null ? null : readParts(finalParts, JSON.stringify(finalParts[0]), job);
  }
  const json = parseReplyJson(reply);
  return json === undefined ? null : readParts([fieldsOf(json)], text, job);
}

/** A reply has several images if the user sets the field `n`. */
function readParts(parts: readonly Record<string, unknown>[], body: string, job: Job): ReadReply {
  const allowed = parts.filter(({ respect_moderation: isAllowed }) => isAllowed !== false);
  const items = allowed.flatMap((part) => [part.data ?? part].flat()).filter(isJsonObject);
  const usage = parts.find((part) => isJsonObject(part.usage))?.usage;
  const standardImages = items.flatMap(readImageItem);
  const images =
    standardImages.length > 0 ? standardImages : allowed.flatMap((part) => findOtherImages(part, job));
  return imagesOrNone(images, usage, body);
}

function readImageItem({ b64_json: base64, url, respect_moderation }: Record<string, unknown>): ReplyImage[] {
  if (respect_moderation === false) return [];
  const isAddress = typeof url === "string" && url.trim() !== "" && !url.startsWith("data:");
  const bytes = decodeImage(base64) ?? (isAddress ? null : decodeImage(url));
  if (bytes !== null) return [{ bytes }];
  return isAddress ? [{ url }] : [];
}

function isEventStream(type: string, body: string): boolean {
  return /^text\/event-stream/i.test(type) || /^\s*(?:event|data):/.test(body);
}

/** Returns the events with images, errors or a complete JSON reply, which some gateways send as an event. */
function readFinalEvents(stream: string): Record<string, unknown>[] | null {
  const events = stream.split(/\r?\n\r?\n/).map((event) => fieldsOf(parseLenientJson(eventData(event))));
  const finalParts = events.filter(isFinalEvent);
  return finalParts.length === 0 ? null : finalParts;
}

function eventData(event: string): string {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice("data:".length).replace(/^ /, "")).join("\n");
}

function isFinalEvent({ type, data, error }: Record<string, unknown>): boolean {
  if (typeof type === "string" && /\.completed$|^error$/.test(type)) return true;
  return Array.isArray(data) || (error !== undefined && error !== null);
}
