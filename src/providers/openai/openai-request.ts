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

/** A request for one image. */
export interface ImageRequest {
  path: "/images/generations" | "/images/edits";
  fields: Readonly<Record<string, unknown>>;
  /** Sent as files of a form, with the fields beside them; none: the fields are sent as JSON. */
  files: readonly LocalReference[];
}

/** Parts of a request. */
export interface RequestContext extends JobContext {
  form: ServerForm;
}

/**
 * The request for a job: what the server's form and the user ask for, and nothing else.
 * @throws ProviderError for a reference image that cannot be used
 */
export async function imageRequest(job: Job, context: RequestContext): Promise<ImageRequest> {
  const { form } = context;
  warnOfQuality(job, context);
  if (form.references === "files" && job.references.length > 0) {
    const files = await referenceFiles(job, context);
    return { path: "/images/edits", fields: plainFields(job, form, files[0]?.file), files };
  }
  const fields = plainFields(job, form);
  if (job.references.length === 0) return { path: "/images/generations", fields, files: [] };
  const isUsual = form.references === "image_url" || form.references === "ref_images";
  const to = isUsual ? "/images/generations" : "/images/edits";
  const urls = referenceUrls(job.references, context);
  return { path: to, fields: { ...referenceFields(urls, form), ...fields }, files: [] };
}

/** The body of a request. @throws the system's error if a file is not there */
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

/** @param reference the file of the first reference image, if there is one */
function plainFields(job: Job, form: ServerForm, reference?: string): ImageRequest["fields"] {
  const { request, options } = job;
  const model = modelName(options.model, form);
  const sized = { ratio: request.ratio, size: requestedSize(job, reference) };
  return {
    ...(model !== null && { model }),
    prompt: request.prompt,
    ...sizeFields(sized, model, options.sizeForm ?? form.sizeForm),
    ...(form.hasResolution && resolutionFields(request.quality)),
    ...(!isGptImage(model) && { response_format: form.responseFormat }),
    ...(form.streams && { stream: true, partial_images: 0 }),
    ...options.fields,
  };
}

/** Says of a quality that is not sent as it was asked for. */
function warnOfQuality({ request: { quality }, options: { sizeForm } }: Job, context: RequestContext): void {
  const { form, onWarning } = context;
  if (quality === undefined || (sizeForm ?? form.sizeForm) !== "aspect_ratio") return;
  if (!form.hasResolution) onWarning?.(`A size as a ratio has no quality: ${quality} was not sent.`);
  else if (quality === "4K") onWarning?.("The server makes 2K at most: it was asked for 2K in place of 4K.");
}

/** The model as the server names it; null: whatever it has. */
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
      // Those that are no address are base64 without anything before it.
      return { ref_images: urls.map(removeDataPrefix) };
    default:
      return urls.length === 1 ? { image_url: first } : { reference_images: urls };
  }
}
