import { action, option, phrase } from "../../lib/wording.ts";
import { estimateCost } from "../cost.ts";
import { nearestText, resolveModel } from "../find.ts";
import type { Matrix } from "../matrix.ts";
import { quoteValue, type Refusal, type Rule, refuse, warning } from "./rule.ts";

export function unknownModelRefusal(name: string, label: string, matrix: Matrix): Refusal {
  const nearest = nearestText(name, matrix);
  return refuse(`${label} ${quoteValue(name)} is not a known model${nearest && `; ${nearest}`}`, [
    phrase`To send the name as it is, add ${option("noValidate")}.`,
    phrase`To see all models: ${action("models")}`,
  ]);
}

export function unknownModel(name: string, label: string, matrix: Matrix): Refusal | null {
  return resolveModel(name, matrix) === undefined ? unknownModelRefusal(name, label, matrix) : null;
}

export const modelListed: Rule = ({ model }) =>
  model.documented ? undefined : warning(`${model.id} is not in the service's list of models`);

/** Warns if the price is only an estimate, because section 8 has no price for a request without a quality. */
export const price: Rule = ({ input, model }) => {
  const { credits, estimate } = estimateCost(model, input.quality);
  if (!estimate) return undefined;
  return warning(
    `${model.id} has no documented price without a quality; its lowest price, ${credits} credits, is an estimate`,
  );
};
