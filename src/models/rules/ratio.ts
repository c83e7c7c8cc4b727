import { action, option, phrase, type Wording } from "../../lib/wording.ts";
import { intendedRatio, isKnownRatio, isWellFormedRatio, nearestRatio } from "../aspect-ratio.ts";
import { findModels, resolveModel } from "../find.ts";
import { DEFAULT_MODEL, type Matrix, RATIOS } from "../matrix.ts";
import {
  allowedText,
  modelList,
  quoteValue,
  type Refusal,
  type Rule,
  refuse,
  type Warning,
  warning,
} from "./rule.ts";

/** Checks that the model lists the ratio (section 2.5). A model without a list of ratios might support any ratio. */
export const ratio: Rule = ({ input, model, matrix, labels }) => {
  const value = input.ratio;
  if (value === undefined) return undefined;
  const refusal = malformedRatio(value, labels.ratio);
  if (refusal !== null) return refusal;
  if (model.ratios === null)
    return isKnownRatio(value, matrix) ? undefined : undocumentedRatio(value, model.id, labels.ratio);
  if (model.ratios.includes(value)) return undefined;
  const limit = { field: "ratio", allowed: model.ratios } as const;
  const message = `${labels.ratio} ${value}: ${allowedText(model.id, limit)}`;
  return refuse(message, ratioHint(value, model.ratios, model.id, matrix), limit);
};

export function malformedRatio(value: string, label: string): Refusal | null {
  if (isWellFormedRatio(value)) return null;
  const correctedRatio = intendedRatio(value);
  const hint =
    correctedRatio === undefined
      ? "write it as width:height, such as 16:9, or auto"
      : `write it as ${correctedRatio}`;
  return refuse(`${label} ${quoteValue(value)} is neither width:height in whole numbers nor auto`, hint);
}

/** If the ratios of any of the models are undocumented, every well-formed ratio is allowed. */
export function unknownRatio(
  value: string,
  label: string,
  matrix: Matrix,
  models: readonly string[] = [DEFAULT_MODEL],
): Refusal | null {
  const refusal = malformedRatio(value, label);
  if (refusal !== null) return refusal;
  const hasUnknownRatios = models.some((name) => resolveModel(name, matrix)?.ratios === null);
  if (hasUnknownRatios || isKnownRatio(value, matrix)) return null;
  const correctedRatio = intendedRatio(value);
  const isDocumented = correctedRatio !== undefined && RATIOS.includes(correctedRatio);
  const advice = isDocumented
    ? `${value} is ${correctedRatio}: write ${correctedRatio}.`
    : `the nearest is ${nearestRatio(value, RATIOS)}.`;
  return refuse(`${label} ${value} is not documented by the service`, [
    advice,
    phrase`To send it as it is, add ${option("noValidate")}`,
  ]);
}

function undocumentedRatio(value: string, id: string, label: string): Warning {
  const intended = intendedRatio(value);
  const sameShape = intended === value ? "" : `; ${intended} is the same shape`;
  return warning(
    `${label} ${value} is not documented by the service, nor are the ratios of ${id}${sameShape}`,
  );
}

/** Suggests a supported spelling of the ratio, or else other models and the nearest supported ratio. */
function ratioHint(value: string, list: readonly string[], id: string, matrix: Matrix): Wording {
  const intended = intendedRatio(value);
  if (intended !== undefined && list.includes(intended)) return `${value} is ${intended}: write ${intended}`;
  const nearest = nearestRatio(value, list);
  const alternatives = modelList(findModels({ ratio: value }, matrix).matching);
  const nearestText = nearest === undefined ? "" : `; the nearest that ${id} takes is ${nearest}`;
  if (alternatives !== "") return `models that take ${value}: ${alternatives}${nearestText}`;
  const possibleModels = phrase`To see models that might: ${action("models", `--ratio ${value}`)}`;
  return [`no model is documented to take ${value}${nearestText}.`, possibleModels];
}
