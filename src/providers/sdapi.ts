import type { Clock } from "../lib/clock.ts";
import { fieldsOf, isJsonObject, jsonOrNull } from "../lib/json.ts";
import { includesModel } from "../models/check-request.ts";
import { requestedSize } from "../models/requested-size.ts";
import { decodeImage, decodeImages, findOtherImages } from "./found-images.ts";
import type { ProviderDeps, ServerSetup } from "./kind.ts";
import { jsonBody } from "./post-body.ts";
import type { FollowOptions, Job, Provider } from "./provider.ts";
import { ProviderServer } from "./provider-http.ts";
import { type ReferenceDeps, referenceFiles, toBase64 } from "./reference-files.ts";
import { parseExactJson, parseReplyJson } from "./reply-json.ts";
import { parseReportedSeeds } from "./seeds.ts";
import { type Form, imagesOrNone, type ReadReply, type ServiceRequest, serviceProvider } from "./service.ts";
import type { StoredReply } from "./stored-reply.ts";

/** Provider for a server with AUTOMATIC1111's API: `POST <base>/sdapi/v1/txt2img`, or `img2img` with an image. */
export function sdapiProvider(setup: ServerSetup, deps: ProviderDeps): Provider {
  // The path of the API is removed, because users copy URLs from the server's API documentation.
  const base = new URL(setup.url);
  base.pathname = base.pathname.replace(/\/sdapi\/v1$/, "");
  const baseSetup = { ...setup, url: base.href };
  const server = new ProviderServer(baseSetup, deps);
  const send: Form["send"] = async (job, options, context) => {
    const { path, body } = await imageRequest(await omitLoadedModel(job, server, options.signal), context);
    const content = jsonBody(body, setup.options.fieldNames.seed);
    return runWithProgress(server, deps.clock, options, () => server.post(path, content, job, options));
  };
  const service = serviceProvider(baseSetup, server, { ...FORM, send }, deps);
  return { ...service, loadedModel: (signal) => loadedModel(server, signal) };
}

const OPTIONS_TIMEOUT_MS = 5_000;
const MAX_NAME_LENGTH = 500;

/** Returns null if the server does not report a model. Never throws. */
async function loadedModel(server: Pick<ProviderServer, "get">, signal: AbortSignal): Promise<string | null> {
  const reply = await server.get("/sdapi/v1/options", signal, OPTIONS_TIMEOUT_MS).catch(() => null);
  const { sd_model_checkpoint: name } = fieldsOf(jsonOrNull(reply?.body ?? ""));
  const isValid = reply?.status === 200 && typeof name === "string" && name !== "";
  return isValid && name.length <= MAX_NAME_LENGTH ? name : null;
}

/** Omits a model that is already loaded, because some servers do not accept the model names that they list. */
async function omitLoadedModel(
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
  read: readReply,
  models: { path: "/sdapi/v1/sd-models", namesIn: modelNames },
  stopPath: "/sdapi/v1/interrupt",
};

function modelNames(list: unknown): string[] | null {
  if (!Array.isArray(list)) return null;
  const names = list.filter(isJsonObject).map(({ model_name, title }) => model_name ?? title);
  return names.filter((name) => typeof name === "string");
}

function readReply(reply: StoredReply, job: Job): ReadReply | null {
  const json = parseReplyJson(reply);
  if (json === undefined) return null;
  const fields = fieldsOf(json);
  const images = decodeImages([fields.images].flat());
  const replyImages = images.length > 0 ? images : findOtherImages(fields, job);
  const { seed, all_seeds: seeds } = fieldsOf(
    parseExactJson(typeof fields.info === "string" ? fields.info : ""),
  );
  const reportedSeed = parseReportedSeeds(seeds ?? seed);
  return imagesOrNone(replyImages, null, reply.body.toString("utf8"), reportedSeed ?? undefined);
}

/** Allows only one reference image, because some servers refuse several, and others use only the first. */
function findProblem({ references: { length } }: Pick<Job, "references">): string | null {
  return length > 1 ? `An sdapi server supports one reference image, not ${length}.` : null;
}

/** Builds a request that omits unset options, so that the server's defaults apply to them. @throws ProviderError */
async function imageRequest(job: Job, deps: ReferenceDeps): Promise<ServiceRequest> {
  const { model, fields } = job.options;
  const { prompt } = job.request;
  // The model stays loaded after the request, because loading a model can take longer than making an image.
  const modelFields = {
    override_settings: { sd_model_checkpoint: model },
    override_settings_restore_afterwards: false,
  };
  const [image] = await referenceFiles(job, deps);
  const baseFields = { prompt, ...requestedSize(job, image?.file), ...(model !== null && modelFields) };
  if (image === undefined) return { path: "/sdapi/v1/txt2img", body: { ...baseFields, ...fields } };
  const images = { init_images: [toBase64(image)] };
  return { path: "/sdapi/v1/img2img", body: { ...baseFields, ...images, ...fields } };
}

const POLL_INTERVAL_MS = 1_000;

/** The maximum is large, because a preview frame can be as large as the image. */
const MAX_PROGRESS_BYTES = 8 * 1024 * 1024;

async function runWithProgress<Result>(
  server: Pick<ProviderServer, "get">,
  clock: Pick<Clock, "sleep">,
  { signal, onProgress, onPreview }: FollowOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const workDone = new AbortController();
  const followSignal = AbortSignal.any([signal, workDone.signal]);
  const following = followProgress(server, clock, { onProgress, onPreview, signal: followSignal });
  try {
    return await work();
  } finally {
    workDone.abort();
    await following;
  }
}

/** Polls the server's progress until the signal aborts, or until a reply contains no progress. Never throws. */
async function followProgress(
  server: Pick<ProviderServer, "get">,
  clock: Pick<Clock, "sleep">,
  { signal, onProgress, onPreview }: FollowOptions,
): Promise<void> {
  let hasPreviews = onPreview !== undefined;
  let lastPreview: unknown = null;
  try {
    for (;;) {
      await clock.sleep(POLL_INTERVAL_MS, signal);
      const path = `/sdapi/v1/progress?skip_current_image=${!hasPreviews}`;
      const reply = await server.get(path, signal, undefined, MAX_PROGRESS_BYTES);
      if (reply.cut !== null && hasPreviews) {
        // The preview frame is too large, so further polls do not request one.
        hasPreviews = false;
        continue;
      }
      const { status, body } = reply;
      const { progress, current_image: image } = fieldsOf(jsonOrNull(body));
      if (status !== 200 || typeof progress !== "number") return;
      // A progress of 0 is not reported, because it can also mean that the server is loading a model.
      if (progress <= 0 || progress > 1) continue;
      onProgress(progress);
      const preview = hasPreviews && image !== lastPreview ? decodeImage(image) : null;
      if (preview !== null) onPreview?.(preview);
      lastPreview = image;
    }
  } catch {
    // An error is ignored, because the image does not depend on the progress.
  }
}
