import { fieldsOf, jsonOrNull } from "../../lib/json.ts";
import { describeChoices } from "../../lib/short-text.ts";
import { requestedSize } from "../../models/requested-size.ts";
import { findImageUrls } from "../found-images.ts";
import { type Fields, fieldText, isFailedState, type JobPoll } from "../job-poll.ts";
import { DEFAULT_FIELD_NAMES, type ProviderDeps, type ServerSetup } from "../kind.ts";
import { sizeFields } from "../openai/size.ts";
import { type Job, type PolledState, type Provider, unsendable } from "../provider.ts";
import { ProviderServer } from "../provider-http.ts";
import { referenceUrls } from "../reference-files.ts";
import { readLogSeed } from "../seeds.ts";
import { type Form, isJobId, type JobContext, jobIn, modelNamed, serviceProvider } from "../service.ts";
import { type ModelInput, type ModelInputs, modelInputs } from "./model-inputs.ts";

/** Model name in the form `owner/name` or `owner/name:version`. */
const MODEL_NAME = /^[\w-][\w.-]*\/[\w-][\w.-]*(?::[\w-]+)?$/;

/** Creates the provider for Replicate, where each request is a prediction and each model has its own inputs. */
export function replicateProvider(setup: ServerSetup, deps: ProviderDeps): Provider {
  const server = new ProviderServer(setup, deps);
  return serviceProvider(setup, server, createForm(server, deps), deps);
}

function createForm(server: ProviderServer, deps: ProviderDeps): Form {
  const jobUrl = (id: string) => server.ownUrl(isJobId(id) ? server.urlBelow(`/predictions/${id}`) : id);
  const readId = ({ id, urls }: Fields) => {
    if (!isJobId(id)) return null;
    // A URL of another host is ignored, because the key must not be sent to that host. The id is sufficient to poll.
    const url = server.ownUrl(fieldsOf(urls).get);
    return url === null || url.href === jobUrl(id)?.href ? id : url.href;
  };
  return {
    supports: ["prompt", "model", "ratio", "image", "maxImages", "quality", "seed", "negative", "fields"],
    check: modelNamed(
      MODEL_NAME,
      "Replicate needs a model name of the form owner/name or owner/name:version.",
    ),
    async request(job, context) {
      const model = job.options.model ?? "";
      const inputs = await modelInputs(model, server, { ...deps, ...context });
      const input = await createInput(job, inputs, context);
      const version = model.split(":")[1];
      return version === undefined
        ? { path: `/models/${model}/predictions`, body: { input } }
        : { path: "/predictions", body: { version, input } };
    },
    read: (reply) => jobIn(reply, readId),
    poll: (id, poll) => poll.get(jobUrl(id), (fields) => parseState(fields, poll)),
    resultIn: ({ output }) => findImageUrls(output),
    seedsIn: ({ output, logs }) => fieldsOf(output).seed ?? readLogSeed(logs),
    async cancelAt(id, signal) {
      const url = jobUrl(id);
      if (url === null) return null;
      const { urls } = fieldsOf(jsonOrNull((await server.get(url, signal)).body));
      const cancelUrl = server.ownUrl(fieldsOf(urls).cancel ?? `${url.href}/cancel`);
      return cancelUrl && { method: "POST", url: cancelUrl };
    },
  };
}

function parseState(fields: Fields, poll: JobPoll): PolledState | null {
  const { status, error, metrics } = fields;
  switch (status) {
    case "starting":
    case "processing":
    case "queued":
      return { status: "running", providerState: status };
    case "succeeded":
      return poll.finished(metrics, fields);
    default:
      return isFailedState(status) ? poll.failed(fieldText(error) ?? status) : null;
  }
}

type Input = Readonly<Record<string, unknown>>;

/**
 * Omits fields from `--field` that the model does not support, with a warning.
 * @throws ProviderError (invalid) for an unsupported seed, negative prompt, ratio or reference image
 */
async function createInput(job: Job, inputs: ModelInputs, context: JobContext): Promise<Input> {
  const onWarning = (message: string) => context.onWarning?.(message);
  const { fields, model } = job.options;
  const unsupportedNames = Object.keys(fields).filter((name) => inputs?.has(name) === false);
  // An unsupported `--seed` or `--negative` is an error, although an unsupported `--field` is only omitted.
  const { seed, negative } = DEFAULT_FIELD_NAMES;
  const requiredInputs = [
    job.request.seed !== undefined && seed,
    job.request.negative !== undefined && negative,
  ];
  const missingInput = requiredInputs.find((name) => name && unsupportedNames.includes(name));
  if (missingInput) throw unsendable(`${model} has no input ${missingInput}.`);
  if (unsupportedNames.length > 0)
    onWarning(`Fields not sent, because ${model} has no such input: ${unsupportedNames.join(", ")}.`);
  const supportedFields = Object.entries(fields).filter(([name]) => !unsupportedNames.includes(name));
  return {
    prompt: job.request.prompt,
    ...sizeInput(job, inputs),
    ...qualityInput(job, inputs, onWarning),
    ...(await referenceInput(job, inputs, context)),
    ...Object.fromEntries(supportedFields),
  };
}

function sizeInput(job: Job, inputs: ModelInputs): Input {
  const { options, request } = job;
  const { sizeForm, model } = options;
  const size = requestedSize(job);
  const sizeRequest = { ratio: requestRatio(job), size };
  if (sizeForm !== null) return sizeFields(sizeRequest, null, sizeForm);
  const hasPixelInputs = (inputs?.has("width") && inputs.has("height")) ?? false;
  const ratioInput = inputs?.get("aspect_ratio");
  const { ratio } = sizeRequest;
  if (ratio === undefined) return hasPixelInputs && !ratioInput && request.quality ? { ...size } : {};
  if (inputs === null || (ratioInput && supportsValue(ratioInput, ratio))) return { aspect_ratio: ratio };
  if (ratioInput && hasPixelInputs && ratioInput.values?.includes("custom"))
    return { aspect_ratio: "custom", ...size };
  if (hasPixelInputs) return { ...size };
  throw unsendable(`${model} has no ratio ${ratio}. ${describeChoices(ratioInput?.values ?? [])}.`);
}

function requestRatio({ request: { ratio } }: Job): string | undefined {
  return ratio === "auto" ? undefined : ratio;
}

function supportsValue({ values }: ModelInput, value: string): boolean {
  return values === null || values.includes(value);
}

/** Names of inputs that can have the values 1K, 2K and 4K. */
const QUALITY_INPUTS = ["resolution", "size"] as const;

function qualityInput(
  { request: { quality }, options: { model, width, height } }: Job,
  inputs: ModelInputs,
  onWarning: (message: string) => void,
): Input {
  if (quality === undefined || inputs === null) return {};
  const name = QUALITY_INPUTS.find((each) => inputs.get(each)?.values?.includes(quality));
  if (name !== undefined) return { [name]: quality };
  const hasPixels = inputs.has("width") && inputs.has("height") && width > 0 && height > 0;
  if (!hasPixels && quality !== "1K")
    onWarning(`${model} has no input for the quality ${quality}, so the quality was not sent.`);
  return {};
}

/** Names of inputs for reference images, in order of preference. */
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

async function referenceInput(job: Job, inputs: ModelInputs, context: JobContext): Promise<Input> {
  const { references, options } = job;
  // An input that the user sets with `--field` is not used for images, because the field would replace them.
  const names = imageInputs(inputs).filter((name) => !Object.hasOwn(options.fields, name));
  if (references.length === 0) return {};
  const listInput = names.find((name) => inputs?.get(name)?.isList);
  const singleInput = names.find((name) => !inputs?.get(name)?.isList);
  const name = references.length > 1 ? listInput : (singleInput ?? listInput);
  if (name === undefined) throw noImageInputError(job, names, inputs);
  const urls = referenceUrls(references, context);
  return { [name]: name === listInput ? urls : urls[0] };
}

/** Returns the names of inputs for reference images: the common names, or otherwise the only input that is a URL. */
function imageInputs(inputs: ModelInputs): readonly string[] {
  if (inputs === null) return ["image"];
  const knownNames = IMAGE_INPUTS.filter((name) => inputs.has(name));
  const urls = urlInputs(inputs);
  return knownNames.length > 0 || urls.length !== 1 ? knownNames : urls;
}

function urlInputs(inputs: NonNullable<ModelInputs>): string[] {
  return [...inputs].filter(([, { isUrl }]) => isUrl).map(([name]) => name);
}

function noImageInputError({ references, options }: Job, names: readonly string[], inputs: ModelInputs) {
  if (names.length > 0)
    return unsendable(`${options.model} supports one reference image, not ${references.length}.`);
  const setInputs = imageInputs(inputs);
  if (setInputs.length > 0)
    return unsendable(
      `A field already sets ${setInputs.join(" and ")}, which ${options.model} uses for reference images. Remove the field or the reference images.`,
    );
  const urls = inputs === null ? [] : urlInputs(inputs);
  if (urls.length === 0) return unsendable(`${options.model} does not support reference images.`);
  return unsendable(
    `${options.model} has several inputs for images, ${urls.join(" and ")}: set one with the field ${urls[0]}=<url>.`,
  );
}
