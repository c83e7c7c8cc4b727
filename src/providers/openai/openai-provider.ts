import { fieldsOf, isJsonObject, jsonOrNull } from "../../lib/json.ts";
import { isModeration, readErrorBody } from "../failed-reply.ts";
import type { ProviderDeps, ServerSetup } from "../kind.ts";
import type { Job, Provider, SubmitHow } from "../provider.ts";
import { ProviderServer } from "../provider-http.ts";
import { type JobContext, type ServiceRequest, serviceProvider } from "../service.ts";
import { isSuccess, type StoredReply } from "../stored-reply.ts";
import { readReply } from "./openai-answer.ts";
import { bodyOf, type ImageRequest, imageRequest } from "./openai-request.ts";
import { type ServerForm, serverFormOf } from "./server-forms.ts";
import { isGptImage } from "./size.ts";

/** An OpenAI-compatible server: `POST <base>/images/generations`, and `/images/edits` with reference images. */
export function openAiProvider(
  setup: ServerSetup,
  deps: ProviderDeps,
  form = serverFormOf(setup.url),
): Provider {
  const server = new ProviderServer(setup, deps);
  const requests = new Requests(server, form, setup.options.fieldNames.seed);
  return serviceProvider(
    setup,
    server,
    {
      supports: ["prompt", "model", "ratio", "image", "maxImages", "quality", "seed", "negative", "fields"],
      check: problemOf,
      isSizedByReference: true,
      request: (job, context) => requests.shown(job, context),
      send: (job, how, context) => requests.send(job, how, context),
      read: readReply,
      models: { path: "/models", namesIn: (json) => modelNames(json, form) },
    },
    deps,
  );
}

/** OpenAI's models refuse unknown fields, also behind a gateway. */
function problemOf({
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
  async shown(job: Job, context: JobContext): Promise<ServiceRequest> {
    const { path, fields, files } = await imageRequest(job, { ...context, form: this.#form });
    const names = files.map(({ shown }) => shown);
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
    const left = Object.entries(request.fields).filter(
      ([name]) => Object.hasOwn(job.options.fields, name) || !this.#refused.has(key(request, name)),
    );
    const body = bodyOf({ ...request, fields: Object.fromEntries(left) }, this.#seedField);
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
    const said = readErrorBody(reply.body.toString("utf8"));
    if (isModeration(said)) return false;
    const refused = OPTIONAL.filter((name) => name in request.fields && !Object.hasOwn(fields, name))
      .filter((name) => !this.#refused.has(key(request, name)))
      .find((name) => (said.field === null ? saysOf(name, said.words ?? "") : said.field === name));
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
function saysOf(name: string, words: string): boolean {
  const named = new RegExp(`\\b${name}\\b`);
  return words.split(/[.;] /).some((clause) => named.test(clause) && NOT_TAKEN.test(clause));
}

function key({ fields }: ImageRequest, name: string): string {
  return `${name} ${fields.model}`;
}
