import { action, option, phrase, type Wording } from "../../lib/wording.ts";
import { intendedRatio, isKnownRatio, isWellFormedRatio, nearestRatio } from "../aspect-ratio.ts";
import { findModels, resolveModel } from "../find.ts";
import { DEFAULT_MODEL, type Matrix, RATIOS } from "../matrix.ts";
import {
  modelList,
  type Refusal,
  type Rule,
  refuse,
  shown,
  takenText,
  type Warning,
  warning,
} from "./rule.ts";

/** Section 2.5: a ratio has to be in the model's row; a model without a row may take any. */
export const ratio: Rule = ({ input, model, matrix, labels }) => {
  const value = input.ratio;
  if (value === undefined) return undefined;
  const malformed = malformedRatio(value, labels.ratio);
  if (malformed !== null) return malformed;
  if (model.ratios === null)
    return isKnownRatio(value, matrix) ? undefined : unlisted(value, model.id, labels.ratio);
  if (model.ratios.includes(value)) return undefined;
  const limit = { field: "ratio", allowed: model.ratios } as const;
  const message = `${labels.ratio} ${value}: ${takenText(model.id, limit)}`;
  return refuse(message, otherwise(value, model.ratios, model.id, matrix), limit);
};

/** Section 2.2: the form of `ratio`. */
export function malformedRatio(value: string, label: string): Refusal | null {
  if (isWellFormedRatio(value)) return null;
  const intended = intendedRatio(value);
  const hint =
    intended === undefined ? "write it as width:height, such as 16:9, or auto" : `write it as ${intended}`;
  return refuse(`${label} ${shown(value)} is neither width:height in whole numbers nor auto`, hint);
}

/**
 * A ratio that is malformed, or that section 2.5 does not name.
 * @param models those that the ratio is for, by any of their names. Where the document does not say which ratios one
 *   of them takes, any that is well formed may be right.
 */
export function unknownRatio(
  value: string,
  label: string,
  matrix: Matrix,
  models: readonly string[] = [DEFAULT_MODEL],
): Refusal | null {
  const malformed = malformedRatio(value, label);
  if (malformed !== null) return malformed;
  const anyMayDo = models.some((name) => resolveModel(name, matrix)?.ratios === null);
  if (anyMayDo || isKnownRatio(value, matrix)) return null;
  const intended = intendedRatio(value);
  const isWritten = intended !== undefined && RATIOS.includes(intended);
  const instead = isWritten
    ? `${value} is ${intended}: write ${intended}.`
    : `the nearest is ${nearestRatio(value, RATIOS)}.`;
  return refuse(`${label} ${value} is not documented by the service`, [
    instead,
    phrase`To send it as it is, add ${option("noValidate")}`,
  ]);
}

function unlisted(value: string, id: string, label: string): Warning {
  const intended = intendedRatio(value);
  const same = intended === value ? "" : `; the same shape is ${intended}`;
  return warning(
    `${label} ${value} is not documented by the service, which does not say what ${id} takes${same}`,
  );
}

/** The same shape in a form the model takes; else the nearest shape, and the models that take this one. */
function otherwise(value: string, list: readonly string[], id: string, matrix: Matrix): Wording {
  const intended = intendedRatio(value);
  if (intended !== undefined && list.includes(intended)) return `${value} is ${intended}: write ${intended}`;
  const nearest = nearestRatio(value, list);
  const others = modelList(findModels({ ratio: value }, matrix).matching);
  const near = nearest === undefined ? "" : `; the nearest that ${id} takes is ${nearest}`;
  if (others !== "") return `models that take ${value}: ${others}${near}`;
  const may = phrase`To see those that may: ${action("models", `--ratio ${value}`)}`;
  return [`no model is documented to take ${value}${near}.`, may];
}
