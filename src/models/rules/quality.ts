import { findModels } from "../find.ts";
import { canonicalQuality, QUALITIES } from "../matrix.ts";
import {
  allowedText,
  orModelsThat,
  quoteValue,
  type Refusal,
  type Rule,
  refuse,
  removalAdvice,
} from "./rule.ts";

/** Checks that the value is a quality, and that the model supports it (sections 2.2 and 2.5). */
export const quality: Rule = (subject) => {
  const { input, model, matrix, labels } = subject;
  if (input.quality === undefined) return undefined;
  const value = canonicalQuality(input.quality);
  if (value === undefined) return unknownQuality(input.quality, labels.quality) ?? undefined;
  const setting = `${labels.quality} ${quoteValue(input.quality)}`;
  if (model.qualities === null || model.qualities.includes(value)) return undefined;
  const limit = { field: "quality", allowed: model.qualities } as const;
  const alternatives = findModels({ quality: value }, matrix).matching;
  const advice = removalAdvice("quality", subject);
  const hint = orModelsThat(`take ${value}`, alternatives, ...(model.qualities.length === 0 ? [advice] : []));
  return refuse(`${setting}: ${allowedText(model.id, limit)}`, hint || advice, limit);
};

export function unknownQuality(value: string, label: string): Refusal | null {
  if (canonicalQuality(value) !== undefined) return null;
  return refuse(
    `${label} ${quoteValue(value)} is not a quality of the service`,
    `use one of ${QUALITIES.join(", ")}`,
  );
}
