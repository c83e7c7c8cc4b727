import { UsageError } from "./error-types.ts";
import { MAX_SEED, nextSeed, parseSeed, type WholeNumber } from "./exact-integer.ts";

/**
 * Parses a whole number within limits.
 * @param limits.rangeText the limits for messages, if further limits are checked later
 * @throws UsageError naming the flag
 */
export function wholeNumberOption(
  label: string,
  text: string,
  limits: { min: number; max?: number; rangeText?: string },
): number {
  const { min, max = Number.MAX_SAFE_INTEGER } = limits;
  const isWhole = /^-?\d+$/.test(text.trim());
  const value = isWhole ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const range = limits.rangeText ?? (limits.max === undefined ? `${min} or more` : `${min} to ${max}`);
  const hasLimit = isWhole && limits.rangeText === undefined;
  const problem = hasLimit ? rangeProblem(value < min, min, max) : ` is not a whole number (${range})`;
  throw new UsageError(`${label} ${JSON.stringify(text)}${problem}.`);
}

function rangeProblem(isBelow: boolean, min: number | bigint, max: number | bigint): string {
  return isBelow ? `: at least ${min}` : `: at most ${max}`;
}

/** @throws UsageError naming the flag */
export function seedOption(label: string, text: string): WholeNumber {
  const seed = parseSeed(text);
  if (seed !== null) return seed;
  const isWhole = /^-?\d+$/.test(text.trim());
  const problem = isWhole
    ? rangeProblem(text.includes("-"), 0, MAX_SEED)
    : ` is not a whole number (0 to ${MAX_SEED})`;
  throw new UsageError(`${label} ${JSON.stringify(text)}${problem}.`, {
    hint: "Nothing was sent. Leave it out for a new seed each time.",
  });
}

/** Maximum number of seeds of one command. */
const MAX_SEEDS = 1000;

/** Seeds: numbers and ascending ranges, such as `3,7` and `1-40`, each once. @throws UsageError naming what they were given as */
export function seedsOption(label: string, text: string): WholeNumber[] {
  const seeds = new Set<WholeNumber>();
  for (const part of text.split(",").map((each) => each.trim())) {
    const [, from = part, to = part] = /^(\d+)\s*-\s*(\d+)$/.exec(part) ?? [];
    const first = seedOption(label, from);
    const further = Number(BigInt(seedOption(label, to)) - BigInt(first));
    if (further < 0)
      throw new UsageError(`${label} ${JSON.stringify(part)}: write the smaller number first.`);
    for (let at = 0; at <= further && seeds.size <= MAX_SEEDS; at++) seeds.add(nextSeed(first, at) ?? first);
  }
  if (seeds.size <= MAX_SEEDS) return [...seeds];
  throw new UsageError(`${label} ${JSON.stringify(text)}: at most ${MAX_SEEDS} seeds.`);
}

/** Whether a text is meant as several seeds. */
export function hasSeveralSeeds(text: string): boolean {
  return /^\s*\d+(?:\s*[-,]\s*\d+)+\s*$/.test(text);
}

/** `1 row`; `2 rows`. */
export function pluralize(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

/** `1,048,576` */
export function groupedDigits(value: number): string {
  return value.toLocaleString("en-US");
}

/** The greatest common divisor of two whole numbers (Euclid). */
export function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
