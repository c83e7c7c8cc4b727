import { IGNORES_MAX_IMAGES, MAX_IMAGES, type Model } from "./matrix.ts";
import { canonicalQuality } from "./quality.ts";
import type { GenerationRequest, RequestDraft } from "./request.ts";

/** A draft that passed the rules, spelled as the service spells it and without what it would ignore. */
export function settleDraft(draft: RequestDraft, model: Model): RequestDraft {
  return {
    ...draft,
    quality: draft.quality === undefined ? undefined : canonicalQuality(draft.quality),
    images: draft.images?.map((url) => url.trim()),
    maxImages: dropsMaxImages(draft, model) ? undefined : draft.maxImages,
  };
}

/** Whether the service would ignore the number of images asked for. To ask for one is no contradiction. */
export function dropsMaxImages({ maxImages = MAX_IMAGES.min }: RequestDraft, model: Model): boolean {
  return IGNORES_MAX_IMAGES.has(model.id) && maxImages > MAX_IMAGES.min;
}

/** The body of a submit: only the fields that are set, always in the same order. */
export function toRequest(draft: RequestDraft, model: string): GenerationRequest {
  const { prompt, ratio, images = [], maxImages, quality } = draft;
  const [first, ...rest] = images;
  return {
    prompt,
    model,
    ...(ratio !== undefined && { ratio }),
    ...(first !== undefined && { image: rest.length === 0 ? first : [first, ...rest] }),
    ...(maxImages !== undefined && { maxImages }),
    ...(quality !== undefined && { quality }),
  };
}

/** A request that was sent once, as the draft that it came from. */
export function draftOf({ image, ...request }: GenerationRequest): RequestDraft {
  return image === undefined ? request : { ...request, images: [image].flat() };
}
