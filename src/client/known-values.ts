import { resolveModel } from "../models/find.ts";
import { type Matrix, MODELS, QUALITIES, RATIOS } from "../models/matrix.ts";

/** Values in the built-in matrix. The service might support other values. */
export const BUILT_IN_VALUES = {
  model: MODELS.map(({ id }) => id),
  ratio: RATIOS,
  quality: QUALITIES,
} as const;

/** Returns the short names of models: the part of the id after the slash, if it is unambiguous. */
export function shortModelNames(matrix: Matrix): { id: string; name: string }[] {
  const names = matrix.map(({ id }) => ({ id, name: id.slice(id.lastIndexOf("/") + 1) }));
  return names.filter(({ name }) => resolveModel(name, matrix) !== undefined);
}

/** Values that at least one model supports, or null if a model's values are undocumented. */
export function allowedByModels(
  names: readonly string[],
  column: "ratios" | "qualities",
  matrix: Matrix,
): string[] | null {
  const lists = names.map((name) => resolveModel(name, matrix)?.[column] ?? null);
  if (lists.length === 0 || lists.includes(null)) return null;
  return [...new Set(lists.flatMap((list) => list ?? []))];
}
