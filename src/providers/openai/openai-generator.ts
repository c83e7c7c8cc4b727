import type { HttpReply } from "../../api/client.ts";
import { errorText } from "../../lib/error-text.ts";
import { fieldsOf, isJsonObject, jsonOrNull } from "../../lib/json.ts";
import { readErrorBody } from "../failed-reply.ts";
import {
  type GeneratedImage,
  type Generator,
  type GeneratorDeps,
  GeneratorError,
  type GeneratorJob,
  type JobDeps,
} from "../generator.ts";
import { GeneratorServer } from "../http.ts";
import type { StoredReply } from "../reply-file.ts";
import type { GeneratorOptions } from "../spec.ts";
import { readAnswer } from "./answer.ts";
import { bodyOf, type ImageRequest, imageRequest } from "./request.ts";
import { type ServerForm, serverFormOf } from "./servers.ts";

/** An OpenAI-compatible server: `POST <base>/images/generations`, and `/images/edits` with reference images. */
export class OpenAiGenerator implements Generator {
  readonly #url: URL;
  #form: ServerForm;
  readonly #options: GeneratorOptions;
  readonly #deps: GeneratorDeps;
  readonly #server: GeneratorServer;
  /** Fields that this server, asked for a model, has refused: not sent for that model again. */
  readonly #refused = new Set<string>();

  /** @param url its base, in whose form it is asked */
  constructor(url: string, options: GeneratorOptions, deps: GeneratorDeps, form = serverFormOf(url)) {
    this.#url = new URL(url);
    this.#form = form;
    this.#options = options;
    this.#deps = deps;
    const authorization = options.key === null ? null : `Bearer ${options.key}`;
    this.#server = new GeneratorServer({ ...options, url, authorization }, deps);
  }

  async generate(job: GeneratorJob, deps: JobDeps): Promise<GeneratedImage> {
    const { signal } = deps;
    const request = await this.#requestFor(job, signal);
    let reply = await this.#post(request, job, signal);
    // The server says which field it does not take, so it has made nothing. Each is left out once.
    while (this.#learnsFrom(reply, request, job)) reply = await this.#post(request, job, signal);
    if (request.files.length > 0 && reply.status === 404 && (await this.#isLocalAi(signal))) {
      this.#form = { ...this.#form, references: "ref_images" };
      return this.generate(job, deps);
    }
    const image = await this.#imageOf(reply, job, signal);
    if (image === null) throw this.#server.lost(reply.cut ?? "the reply ended before it");
    return image;
  }

  async recover(job: GeneratorJob): Promise<GeneratedImage | null> {
    const reply = await this.#server.replyTo(job);
    return reply && this.#imageOf(reply, job, new AbortController().signal);
  }

  async models(signal: AbortSignal): Promise<string[] | null> {
    const reply = await this.#server.get("/models", signal);
    if (reply.status === 404 || reply.status === 405) return null;
    if (!isSuccess(reply)) throw this.#server.failed(reply);
    const json = jsonOrNull(reply.body);
    const list = Array.isArray(json) ? json : fieldsOf(json).data;
    if (!Array.isArray(list)) return null;
    const models = list.filter(isJsonObject).filter(({ type = "image" }) => type === "image");
    const names = models.map(({ id }) => id).filter((id) => typeof id === "string");
    return this.#form.isOpenAi ? names.filter((name) => /image/.test(name)) : names;
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #requestFor(job: GeneratorJob, signal: AbortSignal): Promise<ImageRequest> {
    const { sizeForm } = this.#options;
    const about = { form: this.#form, generatorUrl: this.#url, sizeForm };
    try {
      return await imageRequest(job, { ...this.#deps, ...about, signal });
    } catch (error) {
      if (error instanceof GeneratorError || signal.aborted) throw error;
      const message = `A reference image could not be read: ${errorText(error)}. Nothing was sent.`;
      throw new GeneratorError(message, { kind: "refused" }, { cause: error });
    }
  }

  async #post(request: ImageRequest, job: GeneratorJob, signal: AbortSignal): Promise<StoredReply> {
    const left = Object.entries(request.fields).filter(
      ([name]) => Object.hasOwn(job.fields, name) || !this.#refused.has(key(request, name)),
    );
    const body = await bodyOf({ ...request, fields: Object.fromEntries(left) });
    return this.#server.post(request.path, body, job, signal);
  }

  /** Whether it is a LocalAI, which has no `/images/edits`, but a list of what its models can do, as no other server has. */
  async #isLocalAi(signal: AbortSignal): Promise<boolean> {
    const reply = await this.#server.get("/models/capabilities", signal).catch(() => null);
    signal.throwIfAborted();
    return reply !== null && isSuccess(reply) && Array.isArray(fieldsOf(jsonOrNull(reply.body)).data);
  }

  /** Whether a server that refused a field of ours may be asked again without it. */
  #learnsFrom(reply: StoredReply, request: ImageRequest, { fields }: GeneratorJob): boolean {
    if (reply.status !== 400 && reply.status !== 422) return false;
    const { words, field } = readErrorBody(reply.body.toString("utf8"));
    const refused = OPTIONAL.filter((name) => name in request.fields && !Object.hasOwn(fields, name))
      .filter((name) => !this.#refused.has(key(request, name)))
      .find((name) => field === name || new RegExp(`\\b${name}\\b`).test(words ?? ""));
    if (refused === undefined) return false;
    for (const name of TOGETHER[refused]) this.#refused.add(key(request, name));
    return true;
  }

  /** Null if the reply was cut before its image was whole. @throws GeneratorError, or the signal's reason */
  async #imageOf(reply: StoredReply, job: GeneratorJob, signal: AbortSignal): Promise<GeneratedImage | null> {
    if (!isSuccess(reply)) throw this.#server.failed(reply);
    const answer = readAnswer(reply);
    switch (answer.kind) {
      case "cut":
        return null;
      case "none":
        throw this.#server.withoutImage(answer.body);
      case "bytes":
        return { file: await this.#server.keep(answer.bytes, job), usage: answer.usage };
      case "url":
        return { file: await this.#server.download(answer.url, job, signal), usage: answer.usage };
    }
  }
}

/** Fields of ours that a server may refuse: without them its reply has another form, which is read as well. */
const OPTIONAL = ["response_format", "partial_images", "stream"] as const;
const TOGETHER = {
  response_format: ["response_format"],
  partial_images: ["partial_images"],
  stream: ["stream", "partial_images"],
} as const;

function key({ fields }: ImageRequest, name: string): string {
  return `${name} ${fields.model}`;
}

function isSuccess({ status }: Pick<StoredReply | HttpReply, "status">): boolean {
  return status >= 200 && status < 300;
}
