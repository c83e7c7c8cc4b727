import { estimateCost } from "../cost.ts";
import { type Rule, warning } from "./rule.ts";

/** Section 8: a price that the document does not settle. */
export const price: Rule = ({ input, model }) => {
  const { credits, estimate } = estimateCost(model, input.quality);
  if (!estimate) return undefined;
  return warning(
    `${model.id} has no documented price without a quality; ${credits} credits, its lowest, is an estimate`,
  );
};
