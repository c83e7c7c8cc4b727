import { resolveModel } from "../../models/find.ts";
import type { Matrix } from "../../models/matrix.ts";
import { among, type Offer } from "./command-line.ts";

/** Models by their whole ids; by the part after the slash only where no id begins so. */
export function modelCandidates(current: string, matrix: Matrix): Offer {
  const ids = matrix.map(({ id, kinds, notes }) => ({
    value: id,
    description: [...(kinds ? [kinds.join(", ")] : []), ...notes].join("; "),
  }));
  const whole = among(ids, current);
  if (whole.candidates.length > 0) return whole;
  const tails = ids.map((each) => ({ ...each, value: each.value.slice(each.value.lastIndexOf("/") + 1) }));
  const unique = tails.filter(({ value }) => resolveModel(value, matrix) !== undefined);
  return among(unique, current);
}

/**
 * The ratios or qualities that one of these models takes, in the order of the first; null where none is named, or where
 * the service's document leaves open what one of them takes.
 */
export function allowedBy(
  names: readonly string[],
  field: "ratio" | "quality",
  matrix: Matrix,
): readonly string[] | null {
  const column = field === "ratio" ? "ratios" : "qualities";
  const lists = names.map((name) => resolveModel(name, matrix)?.[column] ?? null);
  if (lists.length === 0 || lists.includes(null)) return null;
  return [...new Set(lists.flatMap((list) => list ?? []))];
}
