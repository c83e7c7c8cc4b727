import { isColumn, nearestColumn } from "./columns.ts";
import type { Found, ReadOptions } from "./entry.ts";
import type { ManifestLine } from "./lines.ts";
import { quoted } from "./quoted.ts";
import { asText, checkValues, NO_PROMPT } from "./row-values.ts";

/** One JSON object on each line, with column names as keys. Blank lines are skipped. */
export async function* readJsonLines(
  lines: AsyncIterable<ManifestLine>,
  options: ReadOptions,
): AsyncGenerator<Found> {
  for await (const { number: line, text, problem } of lines) {
    if (problem !== null) yield { line, message: problem };
    else if (text.trim() !== "") for (const found of readObject(line, text, options)) yield found;
  }
}

function* readObject(line: number, text: string, options: ReadOptions): Generator<Found> {
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
  const unknown = Object.entries(value).filter(([name]) => !isColumn(name));
  const others = new Map(unknown.map(([name, each]) => [name, asText(each) ?? ""]));
  const checked = checkValues(value, others, options);
  if ("values" in checked) yield { line, values: checked.values, ...(others.size > 0 && { others }) };
  else for (const message of checked.problems) yield { line, message: message + nearPrompt(message, value) };
}

/** The key that was meant to be the prompt, if there is none. */
function nearPrompt(problem: string, value: object): string {
  if (problem !== NO_PROMPT) return "";
  const meant = Object.keys(value).find((name) => !isColumn(name) && nearestColumn(name) === "prompt");
  return meant === undefined ? "" : `; is it ${quoted(meant)}?`;
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
