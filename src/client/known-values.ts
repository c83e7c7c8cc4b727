import { resolveModel } from "../models/find.ts";
import { type Matrix, MODELS, QUALITIES, RATIOS } from "../models/matrix.ts";

/** Values in the built-in matrix. The service may support others. */
export const BUILT_IN_VALUES = {
  model: MODELS.map(({ id }) => id),
  ratio: RATIOS,
  quality: QUALITIES,
} as const;

/** The parts after the slash of model ids that name one model alone. */
export function shortModelNames(matrix: Matrix): { id: string; name: string }[] {
  const names = matrix.map(({ id }) => ({ id, name: id.slice(id.lastIndexOf("/") + 1) }));
  return names.filter(({ name }) => resolveModel(name, matrix) !== undefined);
}

/**
 * Ratios or qualities that at least one of the models supports, in the order of the first model; null without models, or if the
 * service's document does not list those of one model.
 */
export function allowedByModels(
  names: readonly string[],
  column: "ratios" | "qualities",
  matrix: Matrix,
): string[] | null {
  const lists = names.map((name) => resolveModel(name, matrix)?.[column] ?? null);
  if (lists.length === 0 || lists.includes(null)) return null;
  return [...new Set(lists.flatMap((list) => list ?? []))];
}
