import { resolveModel } from "../models/find.ts";
import { type Matrix, MODELS, QUALITIES, RATIOS } from "../models/matrix.ts";

/** The values of options that the built-in matrix knows. The service may know others. */
export const KNOWN_VALUES = {
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
 * The ratios or qualities that one of several models takes, in the order of the first; null where none is named, or where the
 * service's document leaves open what one of them takes.
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
