import { findModels } from "../find.ts";
import { canonicalQuality, QUALITIES } from "../matrix.ts";
import {
  allowedText,
  orModelsThat,
  quoteValue,
  type Refusal,
  type Rule,
  refuse,
  withoutField,
} from "./rule.ts";

/** Sections 2.2 and 2.5: the value must be a quality, and one of the model's if those are documented. */
export const quality: Rule = (subject) => {
  const { input, model, matrix, labels } = subject;
  if (input.quality === undefined) return undefined;
  const value = canonicalQuality(input.quality);
  if (value === undefined) return unknownQuality(input.quality, labels.quality) ?? undefined;
  const setting = `${labels.quality} ${quoteValue(input.quality)}`;
  if (model.qualities === null || model.qualities.includes(value)) return undefined;
  const limit = { field: "quality", allowed: model.qualities } as const;
  const others = findModels({ quality: value }, matrix).matching;
  const without = withoutField("quality", subject);
  const hint = orModelsThat(`take ${value}`, others, ...(model.qualities.length === 0 ? [without] : []));
  return refuse(`${setting}: ${allowedText(model.id, limit)}`, hint || without, limit);
};

export function unknownQuality(value: string, label: string): Refusal | null {
  if (canonicalQuality(value) !== undefined) return null;
  return refuse(
    `${label} ${quoteValue(value)} is not a quality of the service`,
    `use one of ${QUALITIES.join(", ")}`,
  );
}
