import { MAX_IMAGES } from "../matrix.ts";
import { dropsMaxImages } from "../wire.ts";
import { type Rule, refuse, warning } from "./rule.ts";
import { modelList } from "./wording.ts";

/** Sections 2.2, 2.4 and 2.5: the field's bounds for any model, then the model's own. */
export const maxImages: Rule = ({ input, model, matrix, labels }) => {
  const value = input.maxImages;
  if (value === undefined) return undefined;
  const given = `${labels.maxImages} ${value}`;
  const { min, max } = MAX_IMAGES;
  if (!Number.isInteger(value) || value < min || value > max) {
    return refuse(
      `${given} is not a whole number from ${min} to ${max}`,
      `use a number from ${min} to ${max}`,
    );
  }
  if (dropsMaxImages(input, model))
    return warning(`${given} is left out: ${model.id} always makes one image`);
  if (model.maxImages === null || value <= model.maxImages) return undefined;
  const several = modelList(matrix.filter((other) => (other.maxImages ?? 0) >= value));
  const most = model.maxImages === 1 ? "only one image" : `at most ${model.maxImages} images`;
  const hint = several === "" ? `no model makes ${value}` : `models that make ${value}: ${several}`;
  return refuse(`${given}: ${model.id} makes ${most}`, `leave it out; ${hint}`);
};
