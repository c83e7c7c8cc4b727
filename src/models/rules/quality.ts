import { findModels } from "../find.ts";
import { canonicalQuality, QUALITIES } from "../matrix.ts";
import { modelList, type Refusal, type Rule, refuse, shown, withoutField } from "./rule.ts";

/** Sections 2.2 and 2.5: one of the field's values, and one of the model's where the document gives them. */
export const quality: Rule = (subject) => {
  const { input, model, matrix, labels } = subject;
  if (input.quality === undefined) return undefined;
  const value = canonicalQuality(input.quality);
  if (value === undefined) return unknownQuality(input.quality, labels.quality) ?? undefined;
  const setting = `${labels.quality} ${shown(input.quality)}`;
  if (model.qualities === null || model.qualities.includes(value)) return undefined;
  const others = `models that take ${value}: ${modelList(findModels({ quality: value }, matrix).matching)}`;
  const limit = { field: "quality", allowed: model.qualities } as const;
  return model.qualities.length === 0
    ? refuse(
        `${setting}: ${model.id} takes no quality`,
        `${withoutField("quality", subject)}; ${others}`,
        limit,
      )
    : refuse(`${setting}: ${model.id} takes only ${model.qualities.join(", ")}`, others, limit);
};

/** Section 2.2: the allowed values of `quality`. */
export function unknownQuality(value: string, label: string): Refusal | null {
  if (canonicalQuality(value) !== undefined) return null;
  return refuse(
    `${label} ${shown(value)} is not a quality of the service`,
    `use one of ${QUALITIES.join(", ")}`,
  );
}
