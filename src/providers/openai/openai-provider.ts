import { inspectBytes } from "../../lib/image/inspect.ts";
import { fieldsOf, isJsonObject, jsonOrNull } from "../../lib/json.ts";
import { isModeration, readErrorBody } from "../failed-reply.ts";
import { decodeImage, findOtherImages, type ReplyImage } from "../found-images.ts";
import type { ProviderDeps, ServerSetup } from "../kind.ts";
import type { Job, Provider, SubmitHow } from "../provider.ts";
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

/** An OpenAI-compatible server: `POST <base>/images/generations`, and `/images/edits` with reference images. */
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
      send: (job, how, context) => requests.send(job, how, context),
      read: readReply,
      models: { path: "/models", namesIn: (json) => modelNames(json, form) },
    },
    deps,
  );
}

/** OpenAI's models refuse unknown fields, also behind a gateway. */
function findProblem({
  request: { seed, negative },
  options: { model },
}: Pick<Job, "request" | "options">): string | null {
  if (!isGptImage(model) || (seed === undefined && negative === undefined)) return null;
  return `${model} takes neither a seed nor a negative prompt.`;
}

/** Requests to a server, without the fields that it has refused. */
class Requests {
  readonly #server: ProviderServer;
  readonly #seedField: string | undefined;
  #form: ServerForm;
  /** Fields that this server, asked for a model, has refused: not sent for that model again. */
  readonly #refused = new Set<string>();

  constructor(server: ProviderServer, form: ServerForm, seedField: string | undefined) {
    this.#server = server;
    this.#seedField = seedField;
    this.#form = form;
  }

  /** A request as it is shown: names stand for its files. */
  async describe(job: Job, context: JobContext): Promise<ServiceRequest> {
    const { path, fields, files } = await imageRequest(job, { ...context, form: this.#form });
    const names = files.map(({ standIn }) => standIn);
    const image = names.length === 1 ? names[0] : names;
    return { path, body: { ...fields, ...(names.length > 0 && { image }) } };
  }

  /** @throws ProviderError, or the disk's error where a reference image cannot be read */
  async send(job: Job, how: SubmitHow, context: JobContext): Promise<StoredReply> {
    const request = await imageRequest(job, { ...context, form: this.#form });
    let reply = await this.#post(request, job, how);
    // The server says which field it does not take, so it has made nothing. Each is left out once.
    while (this.#learnsFrom(reply, request, job)) reply = await this.#post(request, job, how);
    if (request.files.length > 0 && reply.status === 404 && (await this.#isLocalAi(how.signal))) {
      this.#form = { ...this.#form, references: "ref_images" };
      return this.send(job, how, context);
    }
    return reply;
  }

  async #post(request: ImageRequest, job: Job, how: SubmitHow): Promise<StoredReply> {
    const remaining = Object.entries(request.fields).filter(
      ([name]) => Object.hasOwn(job.options.fields, name) || !this.#refused.has(key(request, name)),
    );
    const body = encodeBody({ ...request, fields: Object.fromEntries(remaining) }, this.#seedField);
    return this.#server.post(request.path, body, job, how);
  }

  /** Whether it is a LocalAI, which has no `/images/edits`, but a list of what its models can do, as no other server has. */
  async #isLocalAi(signal: AbortSignal): Promise<boolean> {
    const reply = await this.#server.get("/models/capabilities", signal).catch(() => null);
    return reply !== null && isSuccess(reply) && Array.isArray(fieldsOf(jsonOrNull(reply.body)).data);
  }

  /** Whether a server that refused a field of ours may be asked again without it. */
  #learnsFrom(reply: StoredReply, request: ImageRequest, { options: { fields } }: Job): boolean {
    if (reply.status !== 400 && reply.status !== 422) return false;
    const errorBody = readErrorBody(reply.body.toString("utf8"));
    if (isModeration(errorBody)) return false;
    const refused = OPTIONAL.filter((name) => name in request.fields && !Object.hasOwn(fields, name))
      .filter((name) => !this.#refused.has(key(request, name)))
      .find((name) =>
        errorBody.field === null ? mentionsName(name, errorBody.words ?? "") : errorBody.field === name,
      );
    if (refused === undefined) return false;
    for (const name of TOGETHER[refused]) this.#refused.add(key(request, name));
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

/** Fields of ours that a server may refuse: without them its reply has another form, which is read as well. */
const OPTIONAL = ["response_format", "partial_images", "stream"] as const;
const TOGETHER = {
  response_format: ["response_format"],
  partial_images: ["partial_images"],
  stream: ["stream", "partial_images"],
} as const;

const NOT_TAKEN =
  /\b(?:unknown|un?supported|unrecogni[sz]ed|unexpected|invalid|extra|not (?:supported|permitted|allowed|recogni[sz]ed)|must be verified)\b/i;

/** Whether a sentence says of a field that the server does not take it. */
function mentionsName(name: string, words: string): boolean {
  const pattern = new RegExp(`\\b${name}\\b`);
  return words.split(/[.;] /).some((clause) => pattern.test(clause) && NOT_TAKEN.test(clause));
}

function key({ fields }: ImageRequest, name: string): string {
  return `${name} ${fields.model}`;
}

/**
 * Reads a successful reply in any of the forms that OpenAI-compatible servers use: JSON with `b64_json` or a URL, a stream
 * of events, or the image itself. A reply that was cut short counts where its JSON is whole.
 */
export function readReply(reply: StoredReply, job: Job): ReadReply | null {
  const { headers, body, cut } = reply;
  const type = String(headers["content-type"] ?? "");
  if ((cut === null && type.startsWith("image/") && body.length > 0) || inspectBytes(body).ok)
    return imagesOrNone([{ bytes: body }], null, "");
  const text = body.toString("utf8");
  if (isEventStream(type, text)) {
    const last = finalEvents(text);
    return last === null ? null : answerIn(last, JSON.stringify(last[0]), job);
  }
  const json = parseReplyJson(reply);
  return json === undefined ? null : answerIn([fieldsOf(json)], text, job);
}

/** The images of all parts of a reply: several if the user's own field `n` asks for them. */
function answerIn(parts: readonly Record<string, unknown>[], body: string, job: Job): ReadReply {
  const allowed = parts.filter(({ respect_moderation: isAllowed }) => isAllowed !== false);
  const items = allowed.flatMap((part) => [part.data ?? part].flat()).filter(isJsonObject);
  const usage = parts.find((part) => isJsonObject(part.usage))?.usage;
  const usual = items.flatMap(imageIn);
  const images = usual.length > 0 ? usual : allowed.flatMap((part) => findOtherImages(part, job));
  return imagesOrNone(images, usage, body);
}

/** The image of an item, in a list; an empty one if there is none. */
function imageIn({ b64_json: base64, url, respect_moderation }: Record<string, unknown>): ReplyImage[] {
  if (respect_moderation === false) return [];
  const isAddress = typeof url === "string" && url.trim() !== "" && !url.startsWith("data:");
  const bytes = decodeImage(base64) ?? (isAddress ? null : decodeImage(url));
  if (bytes !== null) return [{ bytes }];
  return isAddress ? [{ url }] : [];
}

/** Whether a body is a stream of events, by its Content-Type or by how it begins. */
function isEventStream(type: string, body: string): boolean {
  return /^text\/event-stream/i.test(type) || /^\s*(?:event|data):/.test(body);
}

/**
 * The last events of a stream of image events: an image (`image_generation.completed`,
 * `image_edit.completed`), an error, or a whole answer as some gateways send it. Null if none has come: the stream was
 * cut.
 */
function finalEvents(stream: string): Record<string, unknown>[] | null {
  const events = stream.split(/\r?\n\r?\n/).map((event) => fieldsOf(parseLenientJson(eventData(event))));
  const last = events.filter(isLast);
  return last.length === 0 ? null : last;
}

function eventData(event: string): string {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice("data:".length).replace(/^ /, "")).join("\n");
}

function isLast({ type, data, error }: Record<string, unknown>): boolean {
  if (typeof type === "string" && /\.completed$|^error$/.test(type)) return true;
  return Array.isArray(data) || (error !== undefined && error !== null);
}
