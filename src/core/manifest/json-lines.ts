import { unknownNames } from "./columns.ts";
import type { Found } from "./entry.ts";
import type { ManifestLine } from "./lines.ts";
import { checkValues } from "./row-values.ts";

/** One JSON object on each line, with column names as keys. Blank lines are skipped. */
export async function* readJsonLines(lines: AsyncIterable<ManifestLine>): AsyncGenerator<Found> {
  for await (const { number: line, text, problem } of lines) {
    if (problem !== null) yield { line, message: problem };
    else if (text.trim() !== "") for (const found of readObject(line, text)) yield found;
  }
}

function* readObject(line: number, text: string): Generator<Found> {
  const parsed = parseJson(text);
  if ("reason" in parsed) {
    yield { line, message: `not JSON (${parsed.reason}); each line is a whole object` };
    return;
  }
  const { value } = parsed;
  if (!isObject(value)) {
    yield { line, message: `not an object but ${kindOf(value)}` };
    return;
  }
  const unknown = unknownNames(Object.keys(value), "key");
  const checked = checkValues(value);
  const problems = [...unknown, ...("problems" in checked ? checked.problems : [])];
  for (const message of problems) yield { line, message };
  if ("values" in checked && problems.length === 0) yield { line, values: checked.values };
}

function parseJson(text: string): { value: unknown } | { reason: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
