/** What is wrong with a model matrix, and where. */
export class MatrixProblem extends Error {
  /** @param at the path of the value: `models[2].ratios[0]` */
  constructor(at: string, why: string) {
    super(`${at} ${why}`);
  }
}

const LONGEST_SHOWN = 60;

/** A value of a JSON document in a message. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
