import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../lib/clock.ts";
import { fieldsOf, isJsonObject, jsonOrNull } from "../lib/json.ts";
import {
  type GeneratedImage,
  type Generator,
  type GeneratorDeps,
  GeneratorError,
  type GeneratorJob,
  type JobDeps,
} from "./generator.ts";
import { GeneratorServer } from "./http.ts";
import { type ReferenceDeps, referenceFiles } from "./reference-files.ts";
import type { StoredReply } from "./reply-file.ts";
import type { GeneratorOptions, GeneratorSpec } from "./spec.ts";

type SdapiSpec = GeneratorSpec & { kind: "sdapi" };

/** A server of AUTOMATIC1111's form: `POST <base>/sdapi/v1/txt2img`, and `/img2img` with reference images. */
export function sdapiGenerator(spec: SdapiSpec, options: GeneratorOptions, deps: GeneratorDeps): Generator {
  // Some copy the address of the interface's own documentation.
  const base = new URL(spec.url);
  base.pathname = base.pathname.replace(/\/sdapi\/v1$/, "");
  const server = { ...options, url: base.href, authorization: authorizationOf(options.key) };
  return new SdapiGenerator(new GeneratorServer(server, deps), base, deps);
}

/** `user:password` is what these servers know; any other key is for a proxy before one. */
function authorizationOf(key: string | null): string | null {
  if (key === null) return null;
  return key.includes(":") ? `Basic ${Buffer.from(key).toString("base64")}` : `Bearer ${key}`;
}

class SdapiGenerator implements Generator {
  readonly #server: GeneratorServer;
  readonly #url: URL;
  readonly #deps: GeneratorDeps;

  constructor(server: GeneratorServer, url: URL, deps: GeneratorDeps) {
    this.#server = server;
    this.#url = url;
    this.#deps = deps;
  }

  async generate(job: GeneratorJob, { signal, onProgress }: JobDeps): Promise<GeneratedImage> {
    const { clock } = this.#deps;
    const request = await imageRequest(job, { ...this.#deps, generatorUrl: this.#url, signal });
    const body = { type: "application/json", bytes: JSON.stringify(request.fields) };
    const done = new AbortController();
    const until = AbortSignal.any([signal, done.signal]);
    const following = followProgress(this.#server, clock, { onProgress, signal: until });
    try {
      const reply = await this.#server.post(request.path, body, job, signal);
      return await this.#imageOf(reply, job);
    } finally {
      done.abort();
      await following;
    }
  }

  async recover(job: GeneratorJob): Promise<GeneratedImage | null> {
    const reply = await this.#server.replyTo(job);
    return reply === null || isCut(reply) ? null : this.#imageOf(reply, job);
  }

  async models(signal: AbortSignal): Promise<string[] | null> {
    const reply = await this.#server.get("/sdapi/v1/sd-models", signal);
    if (reply.status === 404) return null;
    if (reply.status !== 200) throw this.#server.failed(reply);
    const list = jsonOrNull(reply.body);
    if (!Array.isArray(list)) return null;
    const names = list.filter(isJsonObject).map(({ model_name, title }) => model_name ?? title);
    return names.filter((name) => typeof name === "string");
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #imageOf(reply: StoredReply, job: GeneratorJob): Promise<GeneratedImage> {
    const body = reply.body.toString("utf8");
    if (reply.status !== 200) throw this.#server.failed({ ...reply, body });
    if (isCut(reply)) throw this.#server.lost(reply.cut ?? "the reply ended before it");
    const [image] = [fieldsOf(jsonOrNull(body)).images].flat();
    if (typeof image !== "string" || image === "") throw this.#server.withoutImage(body);
    const bytes = Buffer.from(image.replace(/^data:[^,]*,/, ""), "base64");
    return { file: await this.#server.keep(bytes, job), usage: null };
  }
}

/** A reply whose JSON is whole is whole, and no other, whatever the connection did. Another text is the server's words. */
function isCut({ body, cut }: StoredReply): boolean {
  const text = body.toString("utf8");
  return jsonOrNull(text) === null && (cut !== null || /^\s*([{[]|$)/.test(text));
}

/** Where a request for an image goes, and its body. */
interface SdapiRequest {
  path: "/sdapi/v1/txt2img" | "/sdapi/v1/img2img";
  fields: Readonly<Record<string, unknown>>;
}

/**
 * What a server of AUTOMATIC1111's form is asked for: nothing but what the request says and the user has set, so that
 * the server's own defaults rule the rest.
 * @throws GeneratorError for a reference image that cannot be used
 */
async function imageRequest(job: GeneratorJob, deps: ReferenceDeps): Promise<SdapiRequest> {
  const { prompt, width, height, model, fields } = job;
  const plain = { prompt, width, height, ...(model !== null && modelFields(model)) };
  if (job.references.length === 0) return { path: "/sdapi/v1/txt2img", fields: { ...plain, ...fields } };
  const images = { init_images: [await imageOf(job, deps)] };
  return { path: "/sdapi/v1/img2img", fields: { ...plain, ...images, ...fields } };
}

/** The model stays loaded after the request: to load another one can take longer than an image. */
function modelFields(model: string): Record<string, unknown> {
  return { override_settings: { sd_model_checkpoint: model }, override_settings_restore_afterwards: false };
}

/** The reference image in base64. Of several, some of these servers refuse all, and some ignore all but the first. */
async function imageOf(job: GeneratorJob, deps: ReferenceDeps): Promise<string> {
  const [image, ...more] = await referenceFiles(job, path.join(job.folder, "reference"), deps);
  if (image !== undefined && more.length === 0) return readFile(image.file, "base64");
  const message = `An sdapi server takes one reference image, and there are ${job.references.length}. Nothing was sent.`;
  throw new GeneratorError(message, { kind: "refused" });
}

const EVERY_MS = 1_000;

/** Without the picture as it is so far, which the server would have to encode. */
const PROGRESS = "/sdapi/v1/progress?skip_current_image=true";

/**
 * Asks the server how far it is, every second until the signal. A server that does not say is not asked again. Never
 * throws.
 */
async function followProgress(
  server: Pick<GeneratorServer, "get">,
  clock: Pick<Clock, "sleep">,
  { signal, onProgress }: JobDeps,
): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(EVERY_MS, signal);
      const { status, body } = await server.get(PROGRESS, signal);
      const { progress } = fieldsOf(jsonOrNull(body));
      if (status !== 200 || typeof progress !== "number") return;
      // It says 0 before it has begun, and while it loads a model.
      if (progress > 0 && progress <= 1) onProgress(progress);
    }
  } catch {
    // The image is what counts.
  }
}
