import { readFile } from "node:fs/promises";
import path from "node:path";
import { GeneratorError, type GeneratorJob } from "../generator.ts";
import { type ReferenceDeps, referenceFiles } from "../reference-files.ts";

/** Where a request for an image goes, and its body. */
export interface SdapiRequest {
  path: "/sdapi/v1/txt2img" | "/sdapi/v1/img2img";
  fields: Readonly<Record<string, unknown>>;
}

/**
 * What a server of AUTOMATIC1111's form is asked for: nothing but what the request says and the user has set, so that
 * the server's own defaults rule the rest.
 * @throws GeneratorError for a reference image that cannot be used, or the signal's reason
 */
export async function imageRequest(job: GeneratorJob, deps: ReferenceDeps): Promise<SdapiRequest> {
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
