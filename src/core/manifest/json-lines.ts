import { isJsonObject } from "../../lib/json.ts";
import {
  findColumn,
  findMisspelled,
  type ManifestEntry,
  type RawValues,
  type ReadOptions,
  repeatedColumnProblem,
} from "./entry.ts";
import { readLines } from "./lines.ts";
import { checkValues, NO_PROMPT, toText } from "./row-values.ts";

export function* readJsonLines(bytes: Buffer, options: ReadOptions): Generator<ManifestEntry> {
  for (const { number: line, text, problem } of readLines(bytes)) {
    if (problem !== null) yield { line, message: problem };
    else if (text.trim() !== "") yield* readLine(line, text, options);
  }
}

function* readLine(line: number, text: string, options: ReadOptions): Generator<ManifestEntry> {
  const parsed = parseJson(text);
  if ("value" in parsed) yield* readObject(line, parsed.value, options);
  else yield { line, message: `not JSON (${parsed.reason}); each line must be a JSON object` };
}

export async function* readObjects(
  values: Iterable<unknown> | AsyncIterable<unknown>,
  options: ReadOptions,
): AsyncGenerator<ManifestEntry> {
  let line = 0;
  for await (const value of values) yield* readObject(++line, value, options);
}

function* readObject(line: number, value: unknown, options: ReadOptions): Generator<ManifestEntry> {
  if (!isJsonObject(value)) {
    yield { line, message: `not an object but ${jsonKind(value)}` };
    return;
  }
  const { requestValues, others, repeated } = sortKeys(value);
  const misspelled = findMisspelled(others.keys(), options);
  const checked = checkValues(requestValues, others, options);
  const isPromptNear = misspelled.some(({ nearest }) => nearest === "prompt");
  const problems = [
    ...repeated.map(repeatedColumnProblem),
    ...misspelled.map(({ message }) => message),
    ...("values" in checked ? [] : checked.problems).filter((each) => each !== NO_PROMPT || !isPromptNear),
  ];
  for (const message of problems) yield { line, message };
  if ("values" in checked && problems.length === 0)
    yield { line, values: checked.values, ...(others.size > 0 && { others }) };
}

/** Separates request columns from other columns. The values of other columns are converted to text. */
function sortKeys(value: Record<string, unknown>) {
  const requestValues: RawValues = {};
  const others = new Map<string, string>();
  const repeated: string[] = [];
  for (const [name, each] of Object.entries(value)) {
    if (each === undefined) continue;
    const column = findColumn(name);
    if (column === undefined) others.set(name, toText(each) ?? "");
    else if (Object.hasOwn(requestValues, column)) repeated.push(column);
    else requestValues[column] = each;
  }
  return { requestValues, others, repeated };
}

function parseJson(text: string): { value: unknown } | { reason: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

function jsonKind(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
