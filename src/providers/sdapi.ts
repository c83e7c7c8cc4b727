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
import { jsonIn, type StoredReply } from "./reply-file.ts";
import type { GeneratorOptions } from "./spec.ts";

/** A server of AUTOMATIC1111's form: `POST <base>/sdapi/v1/txt2img`, and `/img2img` with reference images. */
export function sdapiGenerator(url: string, options: GeneratorOptions, deps: GeneratorDeps): Generator {
  // Some copy the address of the interface's own documentation.
  const base = new URL(url);
  base.pathname = base.pathname.replace(/\/sdapi\/v1$/, "");
  const authorization = authorizationOf(options.key);
  const server = new GeneratorServer({ ...options, url: base.href, authorization }, deps);
  return {
    async generate(job, { signal, onProgress }) {
      const request = await imageRequest(job, { ...deps, generatorUrl: base, signal });
      const body = { type: "application/json", bytes: JSON.stringify(request.fields) };
      const done = new AbortController();
      const until = AbortSignal.any([signal, done.signal]);
      const following = followProgress(server, deps.clock, { onProgress, signal: until });
      try {
        const reply = await server.post(request.path, body, job, signal);
        return await imageIn(reply, job, server);
      } finally {
        done.abort();
        await following;
      }
    },
    async recover(job) {
      const reply = await server.replyTo(job);
      return reply === null || jsonIn(reply) === undefined ? null : imageIn(reply, job, server);
    },
    models: (signal) => modelsOf(server, signal),
    close: () => server.close(),
  };
}

/** `user:password` is what these servers know; any other key is for a proxy before one. */
function authorizationOf(key: string | null): string | null {
  if (key === null) return null;
  return key.includes(":") ? `Basic ${Buffer.from(key).toString("base64")}` : `Bearer ${key}`;
}

async function modelsOf(server: GeneratorServer, signal: AbortSignal): Promise<string[] | null> {
  const reply = await server.get("/sdapi/v1/sd-models", signal);
  if (reply.status === 404) return null;
  if (reply.status !== 200) throw server.failed(reply);
  const list = jsonOrNull(reply.body);
  if (!Array.isArray(list)) return null;
  const names = list.filter(isJsonObject).map(({ model_name, title }) => model_name ?? title);
  return names.filter((name) => typeof name === "string");
}

/** @throws GeneratorError */
async function imageIn(
  reply: StoredReply,
  job: GeneratorJob,
  server: GeneratorServer,
): Promise<GeneratedImage> {
  if (reply.status !== 200) throw server.failed(reply);
  const json = jsonIn(reply);
  if (json === undefined) throw server.lost(reply.cut ?? "the reply ended before it");
  const [image] = [fieldsOf(json).images].flat();
  if (typeof image !== "string" || image === "") throw server.withoutImage(reply.body.toString("utf8"));
  const bytes = Buffer.from(image.replace(/^data:[^,]*,/, ""), "base64");
  return { file: await server.keep(bytes, job), usage: null };
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
