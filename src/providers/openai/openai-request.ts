import { requestedSize } from "../../models/requested-size.ts";
import { fieldTexts } from "../../task/request.ts";
import { formBody, jsonBody, type PostBody } from "../post-body.ts";
import type { Job } from "../provider.ts";
import {
  type LocalReference,
  type ReferenceUrl,
  referenceFiles,
  referenceUrls,
  removeDataPrefix,
} from "../reference-files.ts";
import type { JobContext } from "../service.ts";
import { OPENAI_DEFAULT_MODEL, openAiName, type ServerForm } from "./server-forms.ts";
import { isGptImage, sizeFields } from "./size.ts";

export interface ImageRequest {
  path: "/images/generations" | "/images/edits";
  fields: Readonly<Record<string, unknown>>;
  /** Files of a multipart form. If there are no files, the fields are sent as JSON. */
  files: readonly LocalReference[];
}

export interface RequestContext extends JobContext {
  form: ServerForm;
}

/** Adds only fields that the user or the form requires. @throws ProviderError for an unusable reference image */
export async function imageRequest(job: Job, context: RequestContext): Promise<ImageRequest> {
  const { form } = context;
  warnOfQuality(job, context);
  if (form.references === "files" && job.references.length > 0) {
    const files = await referenceFiles(job, context);
    return { path: "/images/edits", fields: commonFields(job, form, files[0]?.file), files };
  }
  const fields = commonFields(job, form);
  if (job.references.length === 0) return { path: "/images/generations", fields, files: [] };
  const isGeneration = form.references === "image_url" || form.references === "ref_images";
  const path = isGeneration ? "/images/generations" : "/images/edits";
  const urls = referenceUrls(job.references, context);
  return { path, fields: { ...referenceFields(urls, form), ...fields }, files: [] };
}

/** @throws a file system error if a file does not exist */
export function encodeBody(
  { fields, files }: Pick<ImageRequest, "fields" | "files">,
  seedField: string | undefined,
): PostBody {
  if (files.length === 0) return jsonBody(fields, seedField);
  const field = files.length === 1 ? "image" : "image[]";
  return formBody(
    Object.entries(fieldTexts(fields)),
    files.map((each) => ({ ...each, field })),
  );
}

/** @param reference file of the first reference image */
function commonFields(job: Job, form: ServerForm, reference?: string): ImageRequest["fields"] {
  const { request, options } = job;
  const model = modelName(options.model, form);
  const sizeRequest = { ratio: request.ratio, size: requestedSize(job, reference) };
  return {
    ...(model !== null && { model }),
    prompt: request.prompt,
    ...sizeFields(sizeRequest, model, options.sizeForm ?? form.sizeForm),
    ...(form.hasResolution && resolutionFields(request.quality)),
    ...(!isGptImage(model) && { response_format: form.responseFormat }),
    ...(form.streams && { stream: true, partial_images: 0 }),
    ...options.fields,
  };
}

function warnOfQuality({ request: { quality }, options: { sizeForm } }: Job, context: RequestContext): void {
  const { form, onWarning } = context;
  if (quality === undefined || (sizeForm ?? form.sizeForm) !== "aspect_ratio") return;
  if (!form.hasResolution)
    onWarning?.(`The quality ${quality} was not sent: the server supports only a ratio.`);
  else if (quality === "4K") onWarning?.("The server supports at most 2K: 2K was requested instead of 4K.");
}

/** Returns the server's name for the model, or null for the server's default model. */
function modelName(model: string | null, { isOpenAi }: ServerForm): string | null {
  return isOpenAi ? openAiName(model ?? OPENAI_DEFAULT_MODEL) : model;
}

function resolutionFields(quality: string | undefined): { resolution?: string } {
  if (quality === "1K") return { resolution: "1k" };
  return quality === "2K" || quality === "4K" ? { resolution: "2k" } : {};
}

function referenceFields(urls: readonly ReferenceUrl[], { references }: ServerForm): Record<string, unknown> {
  const [first] = urls;
  switch (references) {
    case "images":
      return { images: urls.map((url) => ({ image_url: url })) };
    case "image":
      return urls.length === 1 ? { image: { url: first } } : { images: urls.map((url) => ({ url })) };
    case "ref_images":
      // The `data:` prefix is removed, because the server supports only URLs and base64.
      return { ref_images: urls.map(removeDataPrefix) };
    default:
      return urls.length === 1 ? { image_url: first } : { reference_images: urls };
  }
}
