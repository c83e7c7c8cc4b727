import { IGNORES_MAX_IMAGES, MAX_IMAGES, type Model, QUALITIES } from "../models/matrix.ts";
import { isWellFormedRatio } from "../models/ratio.ts";
import type { GenerationRequest } from "../task/request.ts";

/** One rule of the document for a well-formed request. @returns the problem, if any */
type Rule = (request: Partial<GenerationRequest>, model: Model) => string | undefined;

/** Section 2.5: a ratio of the model's row; any well-formed one for a model without a row. */
const ratio: Rule = ({ ratio: value }, { id, ratios }) => {
  if (value === undefined || (ratios?.includes(value) ?? isWellFormedRatio(value))) return undefined;
  return `not a ratio of ${id}`;
};

/** Sections 2.2 and 2.5: a quality of the model, or any of the field's if the document gives the model none. */
const quality: Rule = ({ quality: value }, { id, qualities }) => {
  const allowed: readonly string[] = qualities ?? QUALITIES;
  return value === undefined || allowed.includes(value) ? undefined : `not a quality of ${id}`;
};

/** Sections 2.2, 2.4 and 2.5. A model that ignores the number still needs one within the field's bounds. */
const maxImages: Rule = ({ maxImages: value }, model) => {
  if (value === undefined) return undefined;
  const { min, max } = MAX_IMAGES;
  if (!Number.isInteger(value) || value < min || value > max) return "maxImages is not 1 to 15";
  if (IGNORES_MAX_IMAGES.has(model.id) || model.maxImages === null) return undefined;
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
export function brokenRule(request: Partial<GenerationRequest>, model: Model): string | undefined {
  return RULES.map((rule) => rule(request, model)).find((why) => why !== undefined);
}

/** The service downloads reference images from http(s) URLs only. */
function isRemote(url: string): boolean {
  return URL.canParse(url) && /^(?:https?|data):$/.test(new URL(url).protocol);
}

function isHttps(url: string): boolean {
  return new URL(url).protocol === "https:";
}
