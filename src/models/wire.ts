import type { GenerationRequest, RequestInput } from "../task/request.ts";
import { type FieldName, fieldsFrom, type WireFields } from "../task/request-fields.ts";
import { canonicalQuality, IGNORES_MAX_IMAGES, MAX_IMAGES, type Model } from "./matrix.ts";

export function normalizeInput(input: RequestInput, model: Model): RequestInput {
  return {
    ...input,
    quality: input.quality === undefined ? undefined : canonicalQuality(input.quality),
    image: input.image?.map((url) => url.trim()),
    maxImages: ignoresMaxImages(input, model) ? undefined : input.maxImages,
  };
}

/** Whether the service would ignore the requested number of images, because the model always makes one image. */
export function ignoresMaxImages({ maxImages = MAX_IMAGES.min }: RequestInput, model: Model): boolean {
  return IGNORES_MAX_IMAGES.has(model.id) && maxImages > MAX_IMAGES.min;
}

/** Builds the body of a submit from the fields that are set, always in the same order. */
export function toRequest(input: RequestInput, model: string): GenerationRequest {
  const fields = { ...input, model };
  return { ...fieldsFrom<WireFields>((name) => wireValue(fields[name])), prompt: input.prompt, model };
}

/** Converts a value for a submit. A list with one text becomes a text, and an empty list or object is omitted. */
function wireValue(value: RequestInput[FieldName]): WireFields[FieldName] {
  if (typeof value !== "object") return value;
  if (isList(value)) return value.length > 1 ? [...value] : value[0];
  return Object.keys(value).length > 0 ? value : undefined;
}

const isList = (value: object): value is readonly string[] => Array.isArray(value);

export function requestToInput({ image, ...request }: GenerationRequest): RequestInput {
  return image === undefined ? request : { ...request, image: [image].flat() };
}
