import { resolveModel } from "./find.ts";
import { canonicalQuality, DEFAULT_MODEL, type Matrix } from "./matrix.ts";
import { isKnownRatio, isWellFormedRatio } from "./ratio.ts";
import { unknownModelRefusal } from "./rules/model.ts";
import { unknownQualityRefusal } from "./rules/quality.ts";
import { malformedRatioRefusal, unknownRatioRefusal } from "./rules/ratio.ts";
import type { Refusal } from "./rules/rule.ts";

// Values that are wrong by themselves, whatever they are combined with: most likely mistyped.

export function unknownModel(name: string, label: string, matrix: Matrix): Refusal | null {
  return resolveModel(name, matrix) === undefined ? unknownModelRefusal(name, label, matrix) : null;
}

export function unknownQuality(value: string, label: string): Refusal | null {
  return canonicalQuality(value) === undefined ? unknownQualityRefusal(value, label) : null;
}

export function malformedRatio(value: string, label: string): Refusal | null {
  return isWellFormedRatio(value) ? null : malformedRatioRefusal(value, label);
}

/**
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
  return anyMayDo || isKnownRatio(value, matrix) ? null : unknownRatioRefusal(value, label);
}
