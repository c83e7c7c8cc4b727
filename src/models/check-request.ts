import type { ImggenError } from "../lib/error-types.ts";
import { describeChoices } from "../lib/short-text.ts";
import { describeRangeProblem } from "../lib/whole-number.ts";
import {
  ANY_MODEL,
  type CheckedRequest,
  type GenerationRequest,
  type RequestInput,
} from "../task/request.ts";
import { estimateCost } from "./cost.ts";
import { resolveModel } from "./find.ts";
import { InvalidRequestError } from "./invalid-request.ts";
import { DEFAULT_MODEL, type Matrix, type Model, model } from "./matrix.ts";
import { type FieldTerms, generatorFields, refuseGeneratorFields } from "./rules/fields.ts";
import { imageCount, imagesOverHttps, imageUrls, maxImages } from "./rules/images.ts";
import { modelListed, price, unknownModelRefusal } from "./rules/model.ts";
import { emptyPromptRefusal, promptLength, promptText } from "./rules/prompt.ts";
import { quality } from "./rules/quality.ts";
import { ratio } from "./rules/ratio.ts";
import {
  type Finding,
  FLAG_LABELS,
  type Labels,
  type Refusal,
  type Rule,
  type RuleInput,
} from "./rules/rule.ts";
import {
  generatorFieldWarnings,
  type MergedInput,
  omitUnsupported,
  type SavedFields,
  savedLabels,
  withSaved,
  withSavedSize,
} from "./saved-fields.ts";
import { normalizeInput, toRequest } from "./wire.ts";

export interface CheckOptions extends Pick<RuleInput, "uploads" | "inherited"> {
  /** Default: true. If false, the rules of the service's document refuse only an empty prompt. */
  validate?: boolean;
  /** Names of the fields in messages. Default: the flags of `imggen generate`. */
  labels?: Partial<Labels>;
  savedFields?: SavedFields;
  /** The user's generator. If absent or null, the request is for the service. */
  generator?: GeneratorTerms | null | undefined;
}

/** Facts about a generator for the check of a request. The generator itself checks what the matrix does not contain. */
export interface GeneratorTerms extends FieldTerms {
  /** Whether the generator's images are free, regardless of prices in the matrix. */
  isFree: boolean;
  /** Whether the generator is an `imggen serve`, which fetches reference images from URLs and reports its price. */
  isServer?: true;
  /** Whether the generator is free only because no setting says otherwise. Then a repeated paid request stays paid. */
  isFreeByDefault?: boolean;
  price?: number | null;
  defaultModel: string | ImggenError;
  /** Origin of the default model: `generatorModel flux from config.json`. Absent if the generator reports the model. */
  modelOrigin?: string | undefined;
  models: readonly string[] | null;
  /** Returns a sentence about an unsupported part of a request, or null if all parts are supported. */
  findProblem?: (request: GenerationRequest) => string | null;
  /** Returns the setting from config.json that causes a problem, or null. */
  findCause?: (request: GenerationRequest, problem: string) => string | null;
}

/** Rules of the service's document, in an order that reports the most useful problem first. */
const RULES: readonly Rule[] = [
  promptText,
  modelListed,
  promptLength,
  ratio,
  quality,
  maxImages,
  imageCount,
  imageUrls,
  imagesOverHttps,
  price,
];

/** Turns user input into the request to send. @throws InvalidRequestError for the first broken rule */
export function checkRequest(
  input: RequestInput,
  matrix: Matrix,
  options: CheckOptions = {},
): CheckedRequest {
  const labels = { ...FLAG_LABELS, ...options.labels, ...savedLabels(input, options.savedFields) };
  const empty = emptyPromptRefusal(input.prompt, labels.prompt);
  if (empty !== undefined) throw toError(empty);

  const { generator } = options;
  if (generator) return checkForGenerator({ input, matrix, labels }, generator, options);
  const fieldRefusal = refuseGeneratorFields({ input, labels, inherited: options.inherited });
  if (fieldRefusal !== undefined) throw toError(fieldRefusal);
  const name = input.model ?? DEFAULT_MODEL;
  const model = resolveModel(name, matrix);
  if (model !== undefined) {
    const { uploads, inherited, savedFields = {} } = options;
    const subject = { input, model, matrix, labels, uploads, inherited };
    const isChecked = options.validate !== false;
    const { input: mergedInput, warnings } = withSaved(subject, savedFields, isChecked);
    const mergedSubject = { ...subject, input: mergedInput };
    const checked = isChecked ? validateRequest(mergedSubject) : skipValidation(mergedSubject);
    return {
      ...checked,
      warnings: [...warnings, ...generatorFieldWarnings(savedFields), ...checked.warnings],
    };
  }
  const unknown = unknownModelRefusal(name, labels.model, matrix);
  if (options.validate !== false) throw toError(unknown);
  const request = toRequest(withSavedSize(input, options.savedFields), name);
  return { request, credits: null, warnings: uncheckedWarnings([unknown]) };
}

function validateRequest(subject: RuleInput): CheckedRequest {
  const { input, model } = subject;
  const refusal = brokenRule(subject);
  if (refusal !== undefined) throw toError(refusal);
  return {
    request: toRequest(normalizeInput(input, model), model.id),
    credits: estimateCost(model, input.quality).credits,
    warnings: applyRules(subject).map(({ message }) => `${message}.`),
  };
}

/** Returns the request with a warning for each broken rule, and with the warning about an estimated price. */
function skipValidation(subject: RuleInput): CheckedRequest {
  const { input, model } = subject;
  const priceWarning = price(subject);
  return {
    request: toRequest(input, model.id),
    credits: estimateCost(model, input.quality).credits,
    warnings: [
      ...uncheckedWarnings(applyRules(subject)),
      ...(priceWarning === undefined ? [] : [`${priceWarning.message}.`]),
    ],
  };
}

/** Checks a request to a generator, to which the rules of the service's document do not apply. */
function checkForGenerator(
  { input: original, matrix, labels }: Omit<RuleInput, "model">,
  terms: GeneratorTerms,
  { validate, inherited, uploads, savedFields = {} }: CheckOptions,
): CheckedRequest {
  const { isServer, isFree, isFreeByDefault, defaultModel, models } = terms;
  const checkedFields = generatorFields(original, terms, labels);
  if ("kind" in checkedFields) throw toError(checkedFields);
  const { seed: _seed, negative: _negative, fields: _fields, ...rest } = original;
  const name = original.model ?? defaultModel;
  if (typeof name !== "string") throw name;
  const isChecked = validate !== false;
  const origin = original.model === undefined ? terms.modelOrigin : undefined;
  const unknown = isChecked
    ? refuseUnknownModel(name, models, origin ?? `${labels.model} ${JSON.stringify(name)}`)
    : undefined;
  if (unknown !== undefined) throw toError(unknown);
  const model = matrix.find(({ id }) => id === name) ?? undocumentedModel(name);
  const supportsFiles = isServer ? uploads : true;
  const unmergedSubject = {
    input: { ...rest, ...checkedFields.fields },
    model,
    matrix,
    labels,
    uploads: supportsFiles,
    inherited,
  };
  const merged = withSaved(unmergedSubject, savedFields, isChecked);
  const allSaved = { ...savedFields, ...terms.savedFields };
  const { input, warnings } = omitUnsupportedFields(merged.input, original, allSaved, terms, (each) =>
    buildRequest(each, model, isChecked, name),
  );
  const subject = { ...unmergedSubject, input };
  const refusal = isChecked ? applyRules(subject).find(isRefusal) : refuseTooManyImages(subject);
  if (refusal !== undefined) throw toError(refusal);
  const priceWarning = isFree ? undefined : price(subject);
  const requests = input.maxImages ?? 1;
  const credits = totalCost(estimateCost(model, input.quality).credits ?? terms.price ?? null, requests);
  return {
    request: buildRequest(input, model, isChecked, name),
    credits: isFree ? 0 : credits,
    ...(isFree && isFreeByDefault && { creditsIfPaid: credits }),
    ...(isServer && isFree && { isPaid: false }),
    ...(requests > 1 && { requests }),
    warnings: [
      ...checkedFields.warnings,
      ...merged.warnings,
      ...warnings,
      ...(isServer ? generatorFieldWarnings(savedFields) : []),
      ...(priceWarning === undefined ? [] : [`${priceWarning.message}.`]),
    ],
  };
}

/** Builds a request to a generator. `maxImages` is the number of requests, because each request makes one image. */
function buildRequest(
  input: RequestInput,
  model: Model,
  isChecked: boolean,
  name: string,
): GenerationRequest {
  const wireInput = isChecked ? { ...normalizeInput(input, model), maxImages: input.maxImages } : input;
  return toRequest(wireInput, name);
}

/** Omits saved values that are unsupported. @throws InvalidRequestError if another setting causes a problem */
function omitUnsupportedFields(
  input: RequestInput,
  original: SavedFields,
  savedFields: SavedFields,
  { findProblem, findCause }: GeneratorTerms,
  requestFor: (input: RequestInput) => GenerationRequest,
): MergedInput {
  if (findProblem === undefined) return { input, warnings: [] };
  const result = omitUnsupported(input, original, savedFields, (each) => findProblem(requestFor(each)));
  const request = requestFor(result.input);
  const problem = findProblem(request);
  const cause = problem === null ? null : findCause?.(request, problem);
  if (problem === null || cause === undefined || cause === null) return result;
  throw new InvalidRequestError(`With ${cause}: ${problem}`, { hint: "Nothing was sent." });
}

/** Whether a list contains a model, regardless of letter case, file extension and hash. */
export function includesModel(models: readonly string[], name: string): boolean {
  const withoutExtension = (text: string) =>
    text.replace(/(?:\.(?:safetensors|ckpt|gguf|pth?))?(?: \[[\da-f]+\])?$/i, "").toLowerCase();
  return models.some((model) => withoutExtension(model) === withoutExtension(name));
}

function refuseUnknownModel(
  name: string,
  models: readonly string[] | null,
  origin: string,
): Refusal | undefined {
  if (models === null || models.length === 0 || name === ANY_MODEL || includesModel(models, name))
    return undefined;
  return {
    kind: "refusal",
    message: `${origin}: the generator does not have this model`,
    hint: describeChoices(models),
  };
}

const REQUESTS = { min: 1, max: 64 };

/** Limits the number of images even if validation is off, because the ledger stores a request for each image. */
function refuseTooManyImages({ input: { maxImages = 1 }, labels }: RuleInput): Refusal | undefined {
  const { min, max } = REQUESTS;
  if (Number.isInteger(maxImages) && maxImages >= min && maxImages <= max) return undefined;
  const message = `${labels.maxImages} ${maxImages}${describeRangeProblem(maxImages, REQUESTS)}`;
  return { kind: "refusal", message, hint: "Request the other images with another command" };
}

function totalCost(credits: number | null, images: number): number | null {
  return credits === null ? null : credits * images;
}

export function undocumentedModel(id: string): Model {
  return model(id, { promptLimit: null });
}

export function brokenRule(subject: RuleInput, rules = RULES): Refusal | undefined {
  return applyRules(subject, rules).find(isRefusal);
}

function applyRules(subject: RuleInput, rules = RULES): Finding[] {
  return rules.map((rule) => rule(subject)).filter((finding) => finding !== undefined);
}

function uncheckedWarnings(findings: readonly Finding[]): string[] {
  const reasons = findings.filter(isRefusal).map(({ message }) => message);
  return reasons.length === 0 ? [] : [`Validation is off, so this is sent anyway: ${reasons.join("; ")}.`];
}

function isRefusal(finding: Finding): finding is Refusal {
  return finding.kind === "refusal";
}

function toError({ message, hint, limit }: Refusal): InvalidRequestError {
  return new InvalidRequestError(`${message}.`, { hint, limit });
}
