import { type Matrix, MODELS, type Model, model } from "../matrix.ts";
import { type MatrixEntry, MatrixProblem, readEntries, shownValue } from "./schema.ts";

/**
 * The built-in models with the entries of a matrix file: an entry of a known id changes the fields that it names, others
 * are added in the file's order.
 * @param document the file's JSON value @throws MatrixProblem
 */
export function mergeMatrix(document: unknown): Matrix {
  const models = new Map(MODELS.map((each) => [each.id, each]));
  const places = new Map<string, string>();
  readEntries(document).forEach((entry, index) => {
    const at = `models[${index}]`;
    requireOwnId(entry, at, places);
    const merged = mergedModel(entry, models.get(entry.id));
    requireDefaults(merged, entry, at);
    models.set(entry.id, merged);
  });
  return [...models.values()];
}

function mergedModel({ id, ...cells }: MatrixEntry, builtIn: Model | undefined): Model {
  return builtIn === undefined ? model(id, cells) : { ...builtIn, ...cells };
}

/** An id is found in any case, so no two may differ in that alone. */
function requireOwnId({ id }: MatrixEntry, at: string, places: Map<string, string>): void {
  const lower = id.toLowerCase();
  const earlier = places.get(lower);
  if (earlier !== undefined)
    throw new MatrixProblem(`${at}.id`, `${shownValue(id)} is the id of ${earlier} too`);
  places.set(lower, at);
  const alike = MODELS.find((each) => each.id.toLowerCase() === lower);
  if (alike !== undefined && alike.id !== id)
    throw new MatrixProblem(
      `${at}.id`,
      `${shownValue(id)} differs from the built-in ${alike.id} only in case`,
    );
}

/** What a request gets that names none must be something that the model takes. */
function requireDefaults(merged: Model, entry: MatrixEntry, at: string): void {
  for (const { name, value, list, values } of [
    { name: "defaultRatio", value: merged.defaultRatio, list: "ratios", values: merged.ratios },
    { name: "defaultQuality", value: merged.defaultQuality, list: "qualities", values: merged.qualities },
  ] as const) {
    if (value === null || values === null || values.some((each) => each === value)) continue;
    const what = Object.hasOwn(entry, name) ? `is ${value}, which` : `is missing, and ${value}`;
    throw new MatrixProblem(`${at}.${name}`, `${what} is not in ${at}.${list}`);
  }
}
