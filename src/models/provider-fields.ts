import { UsageError } from "../lib/error-types.ts";
import { pairsIn } from "../lib/pairs.ts";
import type { ProviderFields } from "../task/request-fields.ts";
import { wrongFieldName } from "./rules/fields.ts";

/**
 * A generator's own fields, as `name=value`. A number and `true` or `false` are sent as such, in quotes as text.
 * @param label names them in messages @throws UsageError
 */
export function providerFields(label: string, text: string): ProviderFields {
  const entries = fieldPairs(label, text).map(([name, value]) => [name, fieldValue(value)] as const);
  return Object.fromEntries(entries);
}

/** The fields in order, each with the value as text. @throws UsageError */
export function fieldPairs(label: string, text: string): [name: string, value: string][] {
  const pairs = pairsIn(label, text, "steps=20");
  for (const [name] of pairs) {
    const wrong = wrongFieldName(name);
    if (wrong !== null) throw new UsageError(`${label}: ${wrong}.`, { hint: hintFor(name) });
  }
  return pairs;
}

function hintFor(name: string): string | undefined {
  if (!/^\w+$/.test(name)) return undefined;
  return "Use --model, --ratio, --quality, --max-images, --image, --generator-model or --generator-side.";
}

/** The value that is sent. */
export function fieldValue(text: string): ProviderFields[string] {
  if (text === "true" || text === "false") return text === "true";
  return numberIn(text) ?? text.replace(/^"(.*)"$/s, "$1");
}

/** The number that a text is; null for none, and for one that another number would stand for, as for a long seed. */
function numberIn(text: string): number | null {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) return null;
  const number = Number(text);
  const isExact = /^-?\d+$/.test(text) ? Number.isSafeInteger(number) : Number.isFinite(number);
  return isExact ? number : null;
}
