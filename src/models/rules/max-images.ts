import { MAX_IMAGES, MODELS } from "../matrix.ts";
import { dropsMaxImages } from "../wire.ts";
import { type Rule, refuse, warning } from "./rule.ts";
import { modelList } from "./wording.ts";

/** Sections 2.2, 2.4 and 2.5: the field's bounds for any model, then the model's own. */
export const maxImages: Rule = ({ draft, model, labels }) => {
  const value = draft.maxImages;
  if (value === undefined) return undefined;
  const given = `${labels.maxImages} ${value}`;
  const { min, max } = MAX_IMAGES;
  if (!Number.isInteger(value) || value < min || value > max) {
    return refuse(
      `${given} is not a whole number from ${min} to ${max}`,
      `use a number from ${min} to ${max}`,
    );
  }
  if (dropsMaxImages(draft, model))
    return warning(`${given} is left out: ${model.id} always makes one image`);
  if (model.maxImages === null || value <= model.maxImages) return undefined;
  const several = modelList(MODELS.filter((other) => (other.maxImages ?? 0) >= value));
  return refuse(
    `${given}: ${model.id} makes only one image`,
    `leave it out; models that make ${value}: ${several}`,
  );
};
