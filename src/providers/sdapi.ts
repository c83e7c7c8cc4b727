import type { Clock } from "../lib/clock.ts";
import { fieldsOf, isJsonObject, jsonOrNull } from "../lib/json.ts";
import { includesModel } from "../models/check-request.ts";
import { requestedSize } from "../models/requested-size.ts";
import { base64Image, base64Images, imagesElsewhere } from "./found-images.ts";
import type { ProviderDeps, ServerSetup } from "./kind.ts";
import { jsonBody } from "./post-body.ts";
import type { FollowHow, Job, Provider } from "./provider.ts";
import { ProviderServer } from "./provider-http.ts";
import { type ReferenceDeps, referenceFiles, toBase64 } from "./reference-files.ts";
import { exactJson, jsonIn } from "./reply-json.ts";
import { reportedSeeds } from "./seeds.ts";
import { type Form, imagesOrNone, type ReadReply, type ServiceRequest, serviceProvider } from "./service.ts";
import type { StoredReply } from "./stored-reply.ts";

/** A server of AUTOMATIC1111's form: `POST <base>/sdapi/v1/txt2img`, and `/img2img` with reference images. */
export function sdapiProvider(setup: ServerSetup, deps: ProviderDeps): Provider {
  // Some copy the address of the interface's own documentation.
  const base = new URL(setup.url);
  base.pathname = base.pathname.replace(/\/sdapi\/v1$/, "");
  const baseSetup = { ...setup, url: base.href };
  const server = new ProviderServer(baseSetup, deps);
  const send: Form["send"] = async (job, how, context) => {
    const { path, body } = await imageRequest(await unlessLoaded(job, server, how.signal), context);
    const content = jsonBody(body, setup.options.fieldNames.seed);
    return whileFollowed(server, deps.clock, how, () => server.post(path, content, job, how));
  };
  const service = serviceProvider(baseSetup, server, { ...FORM, send }, deps);
  return { ...service, loadedModel: (signal) => loadedModel(server, signal) };
}

const OPTIONS_MS = 5_000;
const MAX_NAME_LENGTH = 500;

/** The model that the server has loaded; null where it does not say. Never throws. */
async function loadedModel(server: Pick<ProviderServer, "get">, signal: AbortSignal): Promise<string | null> {
  const reply = await server.get("/sdapi/v1/options", signal, OPTIONS_MS).catch(() => null);
  const { sd_model_checkpoint: name } = fieldsOf(jsonOrNull(reply?.body ?? ""));
  const isName = reply?.status === 200 && typeof name === "string" && name !== "";
  return isName && name.length <= MAX_NAME_LENGTH ? name : null;
}

/** The job without its model, if the server has loaded it: not every server accepts a model by its listed name. */
async function unlessLoaded(
  job: Job,
  server: Pick<ProviderServer, "get">,
  signal: AbortSignal,
): Promise<Job> {
  const { model } = job.options;
  if (model === null) return job;
  const loaded = await loadedModel(server, signal);
  const isLoaded = loaded !== null && includesModel([loaded], model);
  return isLoaded ? { ...job, options: { ...job.options, model: null } } : job;
}

const FORM: Form = {
  supports: ["prompt", "model", "ratio", "image", "maxImages", "quality", "seed", "negative", "fields"],
  check: findProblem,
  isSizedByReference: true,
  request: imageRequest,
  read,
  models: { path: "/sdapi/v1/sd-models", namesIn: modelNames },
  stopPath: "/sdapi/v1/interrupt",
};

function modelNames(list: unknown): string[] | null {
  if (!Array.isArray(list)) return null;
  const names = list.filter(isJsonObject).map(({ model_name, title }) => model_name ?? title);
  return names.filter((name) => typeof name === "string");
}

function read(reply: StoredReply, job: Job): ReadReply | null {
  const json = jsonIn(reply);
  if (json === undefined) return null;
  const fields = fieldsOf(json);
  const images = base64Images([fields.images].flat());
  const replyImages = images.length > 0 ? images : imagesElsewhere(fields, job);
  const { seed, all_seeds: seeds } = fieldsOf(exactJson(typeof fields.info === "string" ? fields.info : ""));
  const reported = reportedSeeds(seeds ?? seed);
  return imagesOrNone(replyImages, null, reply.body.toString("utf8"), reported ?? undefined);
}

/** Some of these servers refuse several reference images, and some ignore all but the first. */
function findProblem({ references: { length } }: Pick<Job, "references">): string | null {
  return length > 1 ? `An sdapi server takes one reference image, and there are ${length}.` : null;
}

/**
 * What a server of AUTOMATIC1111's form is asked for: nothing but what the request says and the user has set, so that
 * the server's own defaults rule the rest.
 * @throws ProviderError for a reference image that cannot be used
 */
async function imageRequest(job: Job, deps: ReferenceDeps): Promise<ServiceRequest> {
  const { model, fields } = job.options;
  const { prompt } = job.request;
  // The model stays loaded after the request: loading another one can take longer than an image.
  const loading = {
    override_settings: { sd_model_checkpoint: model },
    override_settings_restore_afterwards: false,
  };
  const [image] = await referenceFiles(job, deps);
  const plain = { prompt, ...requestedSize(job, image?.file), ...(model !== null && loading) };
  if (image === undefined) return { path: "/sdapi/v1/txt2img", body: { ...plain, ...fields } };
  const images = { init_images: [toBase64(image)] };
  return { path: "/sdapi/v1/img2img", body: { ...plain, ...images, ...fields } };
}

const EVERY_MS = 1_000;

/** A preview in base64 is as large as the image. */
const MAX_PROGRESS_BYTES = 8 * 1024 * 1024;

/** Does work, and asks the server for its progress meanwhile. */
async function whileFollowed<Result>(
  server: Pick<ProviderServer, "get">,
  clock: Pick<Clock, "sleep">,
  { signal, onProgress, onPreview }: FollowHow,
  work: () => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const following = followProgress(server, clock, { onProgress, onPreview, signal: until });
  try {
    return await work();
  } finally {
    over.abort();
    await following;
  }
}

/**
 * Asks the server for its progress, every second until the signal. A server that has none is not asked again. Never
 * throws.
 */
async function followProgress(
  server: Pick<ProviderServer, "get">,
  clock: Pick<Clock, "sleep">,
  { signal, onProgress, onPreview }: FollowHow,
): Promise<void> {
  let hasPreviews = onPreview !== undefined;
  let lastPreview: unknown = null;
  try {
    for (;;) {
      await clock.sleep(EVERY_MS, signal);
      const from = `/sdapi/v1/progress?skip_current_image=${!hasPreviews}`;
      const reply = await server.get(from, signal, undefined, MAX_PROGRESS_BYTES);
      if (reply.cut !== null && hasPreviews) {
        // The preview is too large: only the progress is asked for.
        hasPreviews = false;
        continue;
      }
      const { status, body } = reply;
      const { progress, current_image: image } = fieldsOf(jsonOrNull(body));
      if (status !== 200 || typeof progress !== "number") return;
      // It says 0 before it has begun, and while it loads a model.
      if (progress <= 0 || progress > 1) continue;
      onProgress(progress);
      const preview = hasPreviews && image !== lastPreview ? base64Image(image) : null;
      if (preview !== null) onPreview?.(preview);
      lastPreview = image;
    }
  } catch {
    // The image is what counts.
  }
}
