import { isJsonObject } from "../../lib/json.ts";

/** What a generator says of cost and tokens. */
export type Usage = Readonly<Record<string, unknown>>;

/** What several images took together: numbers are added up, and what is no number is kept from the first that has it. */
export function addUsage(usages: readonly Usage[]): Usage | null {
  if (usages.length === 0) return null;
  return usages.reduce((sum, usage) => add(sum, usage));
}

function add(sum: Usage, usage: Usage): Usage {
  const names = new Set([...Object.keys(sum), ...Object.keys(usage)]);
  return Object.fromEntries([...names].map((name) => [name, addValue(sum[name], usage[name])]));
}

function addValue(a: unknown, b: unknown): unknown {
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (isJsonObject(a) && isJsonObject(b)) return add(a, b);
  return a ?? b;
}
