import type { GenerationRequest, RequestDraft } from "../task/request.ts";
import { type FieldName, fieldsFrom, type SentFields } from "../task/request-fields.ts";
import { IGNORES_MAX_IMAGES, MAX_IMAGES, type Model } from "./matrix.ts";
import { canonicalQuality } from "./quality.ts";

/** A draft that passed the rules, in the service's spelling and without fields that it would ignore. */
export function settleDraft(draft: RequestDraft, model: Model): RequestDraft {
  return {
    ...draft,
    quality: draft.quality === undefined ? undefined : canonicalQuality(draft.quality),
    image: draft.image?.map((url) => url.trim()),
    maxImages: dropsMaxImages(draft, model) ? undefined : draft.maxImages,
  };
}

/** Whether the service would ignore the requested number of images. Requesting one image does not contradict that. */
export function dropsMaxImages({ maxImages = MAX_IMAGES.min }: RequestDraft, model: Model): boolean {
  return IGNORES_MAX_IMAGES.has(model.id) && maxImages > MAX_IMAGES.min;
}

/** The body of a submit: only the fields that are set, always in the same order. */
export function toRequest(draft: RequestDraft, model: string): GenerationRequest {
  const given = { ...draft, model };
  return { ...fieldsFrom<SentFields>((name) => sentValue(given[name])), prompt: draft.prompt, model };
}

/** A list of one text is sent as that text, and an empty list is not sent. */
function sentValue(given: RequestDraft[FieldName]): SentFields[FieldName] {
  if (typeof given !== "object") return given;
  return given.length > 1 ? [...given] : given[0];
}

/** The draft for submitting a sent request again. */
export function draftOf({ image, ...request }: GenerationRequest): RequestDraft {
  return image === undefined ? request : { ...request, image: [image].flat() };
}
