import { isJsonObject } from "../lib/json.ts";
import { isWellFormedRatio } from "../models/aspect-ratio.ts";
import { IGNORES_MAX_IMAGES, MAX_IMAGES, type Matrix, type Model, QUALITIES } from "../models/matrix.ts";
import type { GenerationRequest } from "../task/request.ts";
import { areSentFields, type SentFields } from "../task/request-fields.ts";
import { invalidRequest, refusal, type ServerReply } from "./reply.ts";

/** A request with a prompt, whose fields have the right types. Other fields are ignored. */
export type RequestBody = SentFields & { prompt: string };

/**
 * Checks a request body by sections 2.2 to 2.5 and 8. Ids, ratios and qualities count only in the document's own
 * spelling. Two refusals have keys of section 7; for the rest the document shows none.
 * @returns the body, with the model that it names; undefined where the matrix has none of that name
 */
export function checkBody(
  body: unknown,
  matrix: Matrix,
  defaultModel?: string,
): { request: RequestBody; model: Model | undefined } | { refused: ServerReply } {
  const refused = (reply: ServerReply) => ({ refused: reply });
  if (!isJsonObject(body)) return refused(invalidRequest("the body is not a JSON object"));
  if (isBlank(body.prompt)) return refused(refusal("image_generation.error.empty_prompt"));
  if (!isRequestBody(body)) return refused(invalidRequest("a field has the wrong type"));
  const { prompt, model: id = defaultModel, maxImages = MAX_IMAGES.min } = body;
  const { min, max } = MAX_IMAGES;
  if (!Number.isInteger(maxImages) || maxImages < min || maxImages > max)
    return refused(invalidRequest(`maxImages is not ${min} to ${max}`));
  const model = matrix.find((candidate) => candidate.id === id);
  // The size in pixels is computed from the ratio, so the provider never sees a malformed one, and cannot refuse it.
  if (body.ratio !== undefined && !isWellFormedRatio(body.ratio))
    return refused(invalidRequest("the ratio is neither width:height nor auto"));
  if (model === undefined) return { request: body, model };
  if (model.promptLimit !== null && Array.from(prompt).length > model.promptLimit)
    return refused(refusal("image_generation.error.prompt_too_long"));
  const broken = brokenRule(body, model);
  return broken === undefined ? { request: body, model } : refused(invalidRequest(broken));
}

function isRequestBody(body: Readonly<Record<string, unknown>>): body is RequestBody {
  return body.prompt !== undefined && areSentFields(body);
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "string" && value.trim() === "");
}

/** One rule of the document for a well-formed request. @returns the problem, if any */
type Rule = (request: Partial<GenerationRequest>, model: Model) => string | undefined;

/** Section 2.5: a ratio of the model's row; any for a model without a row. */
const ratio: Rule = ({ ratio: value }, { id, ratios }) =>
  value === undefined || (ratios?.includes(value) ?? true) ? undefined : `not a ratio of ${id}`;

/** Sections 2.2 and 2.5: a quality of the model, or any of the field's if the document gives the model none. */
const quality: Rule = ({ quality: value }, { id, qualities }) => {
  const allowed: readonly string[] = qualities ?? QUALITIES;
  return value === undefined || allowed.includes(value) ? undefined : `not a quality of ${id}`;
};

/** Sections 2.2, 2.4 and 2.5. The bounds of the field are checked before. */
const maxImages: Rule = ({ maxImages: value }, model) => {
  if (value === undefined || IGNORES_MAX_IMAGES.has(model.id) || model.maxImages === null) return undefined;
  return value <= model.maxImages ? undefined : `${model.id} makes one image`;
};

/** Sections 2.2, 2.4 and 8. The images are never downloaded, so their size and type are not checked. */
const images: Rule = ({ image = [] }, { id, references }) => {
  const urls = [image].flat();
  if (!urls.every(isRemote)) return "a reference image is not a URL";
  if (references === null) return undefined;
  const { min, max, httpsOnly } = references;
  if (urls.length < min) return `${id} needs a reference image`;
  if (max !== null && urls.length > max) return `${id} takes at most ${max} reference images`;
  return httpsOnly && !urls.every(isHttps) ? `${id} takes https URLs only` : undefined;
};

const RULES: readonly Rule[] = [ratio, quality, maxImages, images];

/** The first broken rule of a request; the prompt and the model are checked before. */
function brokenRule(request: Partial<GenerationRequest>, model: Model): string | undefined {
  return RULES.map((rule) => rule(request, model)).find((why) => why !== undefined);
}

/** The service downloads reference images from http(s) URLs only. */
function isRemote(url: string): boolean {
  return URL.canParse(url) && /^(?:https?|data):$/.test(new URL(url).protocol);
}

function isHttps(url: string): boolean {
  return new URL(url).protocol === "https:";
}
