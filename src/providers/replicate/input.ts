import { USUAL_NAMES } from "../kind.ts";
import { sizeFields } from "../openai/size.ts";
import { type Job, unsendable } from "../provider.ts";
import { referenceUrls } from "../reference-files.ts";
import type { JobContext } from "../service.ts";
import type { ModelInput, ModelInputs } from "./model-inputs.ts";

type Input = Readonly<Record<string, unknown>>;

/**
 * The input of a prediction, by what its model can be given. A field of the user's that the model does not have is left
 * out, and said. @throws ProviderError (invalid) for a ratio or a reference image that it has no place for
 */
export async function inputFor(job: Job, allowed: ModelInputs, context: JobContext): Promise<Input> {
  const onWarning = (message: string) => context.onWarning?.(message);
  const { fields, model } = job.options;
  const unknown = Object.keys(fields).filter((name) => allowed?.has(name) === false);
  const needed = neededFields(job).find((name) => unknown.includes(name));
  if (needed !== undefined) throw unsendable(`${model} has no input ${needed}.`);
  if (unknown.length > 0) onWarning(`${model} has no input ${unknown.join(", ")}: it was not sent.`);
  const sent = Object.entries(fields).filter(([name]) => !unknown.includes(name));
  return {
    prompt: job.request.prompt,
    ...sizeInput(job, allowed),
    ...qualityInput(job, allowed, onWarning),
    ...(await referenceInput(job, allowed, context)),
    ...Object.fromEntries(sent),
  };
}

/** The fields of `--seed` and `--negative`, which are never left out, as those of `--field` are. */
function neededFields({ request: { seed, negative } }: Job): string[] {
  const { seed: seedName = "", negative: negativeName = "" } = USUAL_NAMES;
  return [...(seed === undefined ? [] : [seedName]), ...(negative === undefined ? [] : [negativeName])];
}

/** A size as the model takes it; nothing where none was asked for. */
function sizeInput(job: Job, allowed: ModelInputs): Input {
  const { options, request } = job;
  const { width, height, sizeForm, model } = options;
  const sized = { ratio: ratioOf(job), width, height };
  if (sizeForm !== null) return sizeFields(sized, null, sizeForm);
  const hasPixels = (allowed?.has("width") && allowed.has("height")) ?? false;
  const shape = allowed?.get("aspect_ratio");
  const { ratio } = sized;
  if (ratio === undefined) return hasPixels && !shape && request.quality ? { width, height } : {};
  if (allowed === null || (shape && takes(shape, ratio))) return { aspect_ratio: ratio };
  if (shape && hasPixels && shape.values?.includes("custom"))
    return { aspect_ratio: "custom", width, height };
  if (hasPixels) return { width, height };
  const has = shape?.values ? `It has: ${shape.values.join(", ")}.` : "It has none.";
  throw unsendable(`${model} has no ratio ${ratio}. ${has}`);
}

function ratioOf({ request: { ratio } }: Job): string | undefined {
  return ratio === "auto" ? undefined : ratio;
}

function takes({ values }: ModelInput, value: string): boolean {
  return values === null || values.includes(value);
}

/** Inputs in which models are told 1K, 2K or 4K. */
const QUALITY_INPUTS = ["resolution", "size"] as const;

function qualityInput(
  { request: { quality }, options: { model, width, height } }: Job,
  allowed: ModelInputs,
  onWarning: (message: string) => void,
): Input {
  if (quality === undefined || allowed === null) return {};
  const name = QUALITY_INPUTS.find((each) => allowed.get(each)?.values?.includes(quality));
  if (name !== undefined) return { [name]: quality };
  const hasPixels = allowed.has("width") && allowed.has("height") && width > 0 && height > 0;
  if (!hasPixels && quality !== "1K")
    onWarning(`${model} has no input for the quality ${quality}: it was not sent.`);
  return {};
}

/** Inputs in which models take one image or several, the usual first. */
const IMAGE_INPUTS = [
  "input_image",
  "image",
  "input_images",
  "image_input",
  "images",
  "reference_images",
  "reference_image",
  "init_image",
  "image_prompt",
] as const;

async function referenceInput(job: Job, allowed: ModelInputs, context: JobContext): Promise<Input> {
  const { references, options } = job;
  // An input that a field sets has its image.
  const names = imageInputs(allowed).filter((name) => !Object.hasOwn(options.fields, name));
  if (references.length === 0) return {};
  const list = names.find((name) => allowed?.get(name)?.isList);
  const single = names.find((name) => !allowed?.get(name)?.isList);
  const name = references.length > 1 ? list : (single ?? list);
  if (name === undefined) throw noImageInput(job, names, allowed);
  const urls = referenceUrls(references, context);
  return { [name]: name === list ? urls : urls[0] };
}

/** Inputs for reference images: those of a usual name, else the only one that takes a URL. */
function imageInputs(allowed: ModelInputs): readonly string[] {
  if (allowed === null) return ["image"];
  const usual = IMAGE_INPUTS.filter((name) => allowed.has(name));
  const urls = urlInputs(allowed);
  return usual.length > 0 || urls.length !== 1 ? usual : urls;
}

function urlInputs(allowed: NonNullable<ModelInputs>): string[] {
  return [...allowed].filter(([, { isUrl }]) => isUrl).map(([name]) => name);
}

function noImageInput({ references, options }: Job, names: readonly string[], allowed: ModelInputs) {
  const most = names.length === 0 ? "no reference image" : "one reference image";
  const urls = names.length > 0 || allowed === null ? [] : urlInputs(allowed);
  const instead =
    urls.length === 0 ? "" : `: it could be for ${urls.join(" or ")}, which --field ${urls[0]}=<url> sets`;
  return unsendable(`${options.model} takes ${most}, and there are ${references.length}${instead}.`);
}
