import { findModels } from "../find.ts";
import { canonicalQuality, QUALITIES } from "../matrix.ts";
import { orModelsThat, type Refusal, type Rule, refuse, shown, takenText, withoutField } from "./rule.ts";

/** Sections 2.2 and 2.5: one of the field's values, and one of the model's where the document gives them. */
export const quality: Rule = (subject) => {
  const { input, model, matrix, labels } = subject;
  if (input.quality === undefined) return undefined;
  const value = canonicalQuality(input.quality);
  if (value === undefined) return unknownQuality(input.quality, labels.quality) ?? undefined;
  const setting = `${labels.quality} ${shown(input.quality)}`;
  if (model.qualities === null || model.qualities.includes(value)) return undefined;
  const limit = { field: "quality", allowed: model.qualities } as const;
  const others = findModels({ quality: value }, matrix).matching;
  const without = withoutField("quality", subject);
  const hint = orModelsThat(`take ${value}`, others, ...(model.qualities.length === 0 ? [without] : []));
  return refuse(`${setting}: ${takenText(model.id, limit)}`, hint || without, limit);
};

/** Section 2.2: the allowed values of `quality`. */
export function unknownQuality(value: string, label: string): Refusal | null {
  if (canonicalQuality(value) !== undefined) return null;
  return refuse(
    `${label} ${shown(value)} is not a quality of the service`,
    `use one of ${QUALITIES.join(", ")}`,
  );
}
