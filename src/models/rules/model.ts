import { nearestModels } from "../find.ts";
import { type Refusal, type Rule, refuse, warning } from "./rule.ts";
import { shown } from "./wording.ts";

/** Section 2.4: the allowed values of `model`. */
export function unknownModelRefusal(name: string, label: string): Refusal {
  return refuse(
    `${label} ${shown(name)} is not a known model; the nearest are ${nearestModels(name).join(", ")}`,
    "run imggen models for all of them, or add --no-validate to send the name as it is",
  );
}

export const modelListed: Rule = ({ model }) =>
  model.documented
    ? undefined
    : warning(`${model.id} is named in the service's document, but not in its list of models`);
