import type { ImggenError } from "../lib/error-types.ts";
import { joinFirst } from "../lib/short-text.ts";
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
import { type FieldTerms, ofGeneratorAlone, ownFields } from "./rules/fields.ts";
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
  leftOutByService,
  type SavedFields,
  savedLabels,
  type WithSaved,
  withAllSaved,
  withoutUnsupported,
  withSaved,
} from "./saved-fields.ts";
import { normalizeInput, toRequest } from "./wire.ts";

export interface CheckOptions extends Pick<RuleInput, "uploads" | "inherited"> {
  /** Default true. If false, only a blank prompt is refused, and all values are sent as given. */
  validate?: boolean;
  /** How messages name the values; by default as the flags of `imggen generate`. */
  labels?: Partial<Labels>;
  /** Values of config.json for fields that the input leaves open. */
  saved?: SavedFields;
  /** The user's own generator, where it takes the place of the service; absent or null for the service. */
  generator?: GeneratorTerms | null | undefined;
}

/** Terms that a request to the user's own generator is checked against. The generator itself judges what no matrix has. */
export interface GeneratorTerms extends FieldTerms {
  /** Whether its images cost nothing, whatever the matrix says. */
  isFree: boolean;
  /**
   * Whether it is an `imggen serve`: it takes URLs of reference images, and it alone knows what its requests cost. Absent: no.
   */
  isServer?: true;
  /** Whether no flag or setting says that it is free. A request that was paid before then stays paid. Default false. */
  isFreeByDefault?: boolean;
  /** Price of an image without one in the matrix, in credits; absent or null if unknown. */
  price?: number | null;
  /** What a request gets that names no model; an error says why there is none. */
  defaultModel: string | ImggenError;
  /** The origin of that model, with its name: `generatorModel flux from config.json`; absent if the generator names it. */
  modelOrigin?: string | undefined;
  /** Its own names of the models that it has; null where they are not known. */
  models: readonly string[] | null;
  /** A sentence about a part of a request that the generator does not support; null for none. Absent: not known. */
  problemOf?: (request: GenerationRequest) => string | null;
  /** The setting of config.json without which there would be no such problem; null if it is none. */
  causeOf?: (request: GenerationRequest, problem: string) => string | null;
}

/** The rules, in the order in which problems are most useful to the user. */
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

/**
 * Turns what the user asked for into the request to send, with its cost. Refuses what the service's document rules out;
 * what the document leaves open passes, with a warning if the result may surprise.
 *
 * @throws InvalidRequestError for the first broken rule
 */
export function checkRequest(
  input: RequestInput,
  matrix: Matrix,
  options: CheckOptions = {},
): CheckedRequest {
  const labels = { ...FLAG_LABELS, ...options.labels, ...savedLabels(input, options.saved) };
  const empty = emptyPromptRefusal(input.prompt, labels.prompt);
  if (empty !== undefined) throw refused(empty);

  const { generator } = options;
  if (generator) return checkedForGenerator({ input, matrix, labels }, generator, options);
  const foreign = ofGeneratorAlone({ input, labels, inherited: options.inherited });
  if (foreign !== undefined) throw refused(foreign);
  const name = input.model ?? DEFAULT_MODEL;
  const model = resolveModel(name, matrix);
  if (model !== undefined) {
    const { uploads, inherited, saved = {} } = options;
    const subject = { input, model, matrix, labels, uploads, inherited };
    const isChecked = options.validate !== false;
    const { input: whole, warnings } = withSaved(subject, saved, isChecked);
    const full = { ...subject, input: whole };
    const checked = isChecked ? validated(full) : sentAsGiven(full);
    return { ...checked, warnings: [...warnings, ...leftOutByService(saved), ...checked.warnings] };
  }
  const unknown = unknownModelRefusal(name, labels.model, matrix);
  if (options.validate !== false) throw refused(unknown);
  const request = toRequest(withAllSaved(input, options.saved), name);
  return { request, credits: null, warnings: unchecked([unknown]) };
}

/** The request, checked against every rule. */
function validated(subject: RuleInput): CheckedRequest {
  const { input, model } = subject;
  const broken = brokenRule(subject);
  if (broken !== undefined) throw refused(broken);
  return {
    request: toRequest(normalizeInput(input, model), model.id),
    credits: estimateCost(model, input.quality).credits,
    warnings: judge(subject).map(({ message }) => `${message}.`),
  };
}

/** The request without checks. An estimated price is still a warning. */
function sentAsGiven(subject: RuleInput): CheckedRequest {
  const { input, model } = subject;
  const guess = price(subject);
  return {
    request: toRequest(input, model.id),
    credits: estimateCost(model, input.quality).credits,
    warnings: [...unchecked(judge(subject)), ...(guess === undefined ? [] : [`${guess.message}.`])],
  };
}

/** The document says nothing of a generator, so that it warns of nothing; a name is handed on as it is. */
function checkedForGenerator(
  { input: original, matrix, labels }: Omit<RuleInput, "model">,
  terms: GeneratorTerms,
  { validate, inherited, uploads, saved = {} }: CheckOptions,
): CheckedRequest {
  const { isServer, isFree, isFreeByDefault, defaultModel, models } = terms;
  const own = ownFields(original, terms, labels);
  if ("kind" in own) throw refused(own);
  const { seed: _seed, negative: _negative, fields: _fields, ...rest } = original;
  const name = original.model ?? defaultModel;
  if (typeof name !== "string") throw name;
  const isChecked = validate !== false;
  const origin = original.model === undefined ? terms.modelOrigin : undefined;
  const unknown = isChecked
    ? unknownToGenerator(name, models, origin ?? `${labels.model} ${JSON.stringify(name)}`)
    : undefined;
  if (unknown !== undefined) throw refused(unknown);
  const model = matrix.find(({ id }) => id === name) ?? unknownToUs(name);
  const takesFiles = isServer ? uploads : true;
  const open = { input: { ...rest, ...own.own }, model, matrix, labels, uploads: takesFiles, inherited };
  const full = withSaved(open, saved, isChecked);
  const allSaved = { ...saved, ...terms.saved };
  const { input, warnings } = supported(full.input, original, allSaved, terms, (each) =>
    requestOf(each, model, isChecked, name),
  );
  const subject = { ...open, input };
  const broken = isChecked ? judge(subject).find(isRefusal) : tooMany(subject);
  if (broken !== undefined) throw refused(broken);
  const guess = isFree ? undefined : price(subject);
  const requests = input.maxImages ?? 1;
  const credits = totalOf(estimateCost(model, input.quality).credits ?? terms.price ?? null, requests);
  return {
    request: requestOf(input, model, isChecked, name),
    credits: isFree ? 0 : credits,
    ...(isFree && isFreeByDefault && { creditsIfPaid: credits }),
    ...(isServer && isFree && { isPaid: false }),
    ...(requests > 1 && { requests }),
    warnings: [
      ...own.warnings,
      ...full.warnings,
      ...warnings,
      ...(isServer ? leftOutByService(saved) : []),
      ...(guess === undefined ? [] : [`${guess.message}.`]),
    ],
  };
}

/** The request to a generator. It makes one image for each request that it gets, and as many are sent as are wanted. */
function requestOf(input: RequestInput, model: Model, isChecked: boolean, name: string): GenerationRequest {
  const sent = isChecked ? { ...normalizeInput(input, model), maxImages: input.maxImages } : input;
  return toRequest(sent, name);
}

/** Leaves out saved values that the generator does not support. @throws InvalidRequestError if a saved setting is in its way */
function supported(
  input: RequestInput,
  given: SavedFields,
  saved: SavedFields,
  { problemOf, causeOf }: GeneratorTerms,
  requestFor: (input: RequestInput) => GenerationRequest,
): WithSaved {
  if (problemOf === undefined) return { input, warnings: [] };
  const result = withoutUnsupported(input, given, saved, (each) => problemOf(requestFor(each)));
  const request = requestFor(result.input);
  const problem = problemOf(request);
  const cause = problem === null ? null : causeOf?.(request, problem);
  if (problem === null || cause === undefined || cause === null) return result;
  throw new InvalidRequestError(`With ${cause}: ${problem}`, { hint: "Nothing was sent." });
}

/** Whether a generator's list has a model, by whichever of its names. */
export function isAmong(models: readonly string[], name: string): boolean {
  const plain = (text: string) =>
    text.replace(/(?:\.(?:safetensors|ckpt|gguf|pth?))?(?: \[[\da-f]+\])?$/i, "").toLowerCase();
  return models.some((model) => plain(model) === plain(name));
}

/** A model that the generator does not have. What its list calls by a longer name, or a file's, counts as that. */
function unknownToGenerator(
  name: string,
  models: readonly string[] | null,
  origin: string,
): Refusal | undefined {
  if (models === null || models.length === 0 || name === ANY_MODEL || isAmong(models, name)) return undefined;
  return {
    kind: "refusal",
    message: `${origin}: the generator has no such model`,
    hint: `It has: ${joinFirst(models)}`,
  };
}

/** The most requests that one task may have. */
const MAX_REQUESTS = 64;

/** Refuses too many images, without validation too: each is a request, and each is written down. */
function tooMany({ input: { maxImages = 1 }, labels }: RuleInput): Refusal | undefined {
  if (Number.isInteger(maxImages) && maxImages >= 1 && maxImages <= MAX_REQUESTS) return undefined;
  const isTooMany = Number.isInteger(maxImages) && maxImages > MAX_REQUESTS;
  const why = isTooMany ? `: at most ${MAX_REQUESTS}` : ` is not a whole number from 1 to ${MAX_REQUESTS}`;
  const message = `${labels.maxImages} ${maxImages}${why}`;
  return { kind: "refusal", message, hint: "Ask for the others with another command" };
}

/** The cost of all images: each is a request of its own. */
function totalOf(credits: number | null, images: number): number | null {
  return credits === null ? null : credits * images;
}

/** A model of which only the generator knows what it takes. */
export function unknownToUs(id: string): Model {
  return model(id, { promptLimit: null });
}

/** The first refusal of a request by these rules; undefined if they allow it. */
export function brokenRule(subject: RuleInput, rules = RULES): Refusal | undefined {
  return judge(subject, rules).find(isRefusal);
}

function judge(subject: RuleInput, rules = RULES): Finding[] {
  return rules.map((rule) => rule(subject)).filter((finding) => finding !== undefined);
}

/** One warning with everything that would have been refused; none if nothing would. */
function unchecked(findings: readonly Finding[]): string[] {
  const reasons = findings.filter(isRefusal).map(({ message }) => message);
  return reasons.length === 0 ? [] : [`Validation is off, so this is sent anyway: ${reasons.join("; ")}.`];
}

function isRefusal(finding: Finding): finding is Refusal {
  return finding.kind === "refusal";
}

function refused({ message, hint, limit }: Refusal): InvalidRequestError {
  return new InvalidRequestError(`${message}.`, { hint, limit });
}
