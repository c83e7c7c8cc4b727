import { errorText } from "../lib/error-text.ts";
import { UsageError } from "../lib/error-types.ts";
import { parseExact, stringifyExact } from "../lib/exact-integer.ts";
import { isJsonObject, isTexts, jsonOrNull } from "../lib/json.ts";
import { parsePairs } from "../lib/pairs.ts";
import { isProviderFields, type ProviderFields } from "../task/request-fields.ts";
import { invalidFieldReason } from "./rules/fields.ts";

/** Parses pairs (`steps=20`). Numbers, `true` and `false` become JSON values unless quoted. @throws UsageError */
export function providerFields(label: string, text: string): ProviderFields {
  const entries = fieldPairs(label, text).map(([name, value]) => [name, fieldValue(value)] as const);
  return Object.fromEntries(entries);
}

/** Parses one `name=<json>`, a JSON list of such texts, or a JSON object. @throws UsageError */
export function jsonFields(label: string, text: string): ProviderFields {
  const list = jsonOrNull(text);
  const fields = isJsonObject(list)
    ? exactValue(label, "the object", text)
    : Object.fromEntries((isTexts(list) ? list : [text]).map((pair) => jsonPair(label, pair)));
  if (!isProviderFields(fields)) throw new UsageError(`${label} is nested more than 30 levels deep.`);
  for (const [name, value] of Object.entries(fields)) requireFieldName(label, name, value);
  return fields;
}

function jsonPair(label: string, pair: string): [name: string, value: unknown] {
  const at = pair.indexOf("=");
  if (at >= 1) return [pair.slice(0, at), exactValue(label, pair.slice(0, at), pair.slice(at + 1))];
  throw new UsageError(`${label}: ${JSON.stringify(pair)} must be like loras=[{"path":"fox"}].`);
}

/** @throws UsageError for invalid JSON, and for a number that JavaScript would round */
function exactValue(label: string, name: string, text: string): unknown {
  let value: unknown;
  try {
    value = parseExact(text);
  } catch (error) {
    throw new UsageError(`${label}: the value of ${name} is not JSON: ${errorText(error)}.`, {
      hint: `For example: --field-json 'loras=[{"path":"fox","scale":0.8}]'\nFor a plain text: --field ${name}=<text>`,
    });
  }
  if (stringifyExact(value) === JSON.stringify(value)) return value;
  throw new UsageError(`${label}: the value of ${name} has a number that JSON readers would round.`, {
    hint: "Write the number as text, in double quotes. For a seed, use --seed.",
  });
}

/** @throws UsageError */
export function fieldPairs(label: string, text: string): [name: string, value: string][] {
  const pairs = parsePairs(label, text, "steps=20");
  for (const [name] of pairs) requireFieldName(label, name);
  return pairs;
}

function requireFieldName(label: string, name: string, value?: unknown): void {
  const problem = invalidFieldReason(name, value);
  if (problem !== null) throw new UsageError(`${label}: ${problem}.`, { hint: hintFor(name) });
}

function hintFor(name: string): string | undefined {
  if (!/^\w+$/.test(name)) return undefined;
  return "Use --model, --ratio, --quality, --max-images, --image, --generator-model or --generator-side.";
}

export function fieldValue(text: string): ProviderFields[string] {
  if (text === "true" || text === "false") return text === "true";
  return parseNumber(text) ?? text.replace(/^"(.*)"$/s, "$1");
}

/** Parses a number. Returns null for other texts, and for a number that JavaScript would round, such as a long seed. */
function parseNumber(text: string): number | null {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) return null;
  const number = Number(text);
  const isExact = /^-?\d+$/.test(text) ? Number.isSafeInteger(number) : Number.isFinite(number);
  return isExact ? number : null;
}
