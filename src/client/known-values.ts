import { MAX_IMAGES, MODELS, type Model, NEEDS_SUBSCRIPTION, QUALITIES, RATIOS } from "../models/matrix.ts";

/** The values of options that the built-in matrix knows. The service may know others. */
export const KNOWN_VALUES = {
  model: MODELS.map(({ id }) => id),
  ratio: RATIOS,
  quality: QUALITIES,
} as const;

/** How many images a model makes that makes several, and is asked for no number. */
export const IMAGES_BY_DEFAULT = MAX_IMAGES.default;

export function needsSubscription({ notes }: Pick<Model, "notes">): boolean {
  return notes.includes(NEEDS_SUBSCRIPTION);
}
