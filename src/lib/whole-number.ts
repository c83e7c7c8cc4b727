import { UsageError } from "./error-types.ts";
import { MAX_SEED, nextSeed, parseSeed, type WholeNumber } from "./exact-integer.ts";

/** Limits of a whole number, both included. */
interface Range {
  min: number | bigint;
  /** Absent: none. */
  max?: number | bigint;
}

/** The limit that a whole number exceeds: `at most 15`; null for one within its limits, and for any other value. */
export function exceededLimit(value: unknown, { min, max }: Range): string | null {
  const whole = typeof value === "string" && /^\s*-?\d+\s*$/.test(value) ? BigInt(value) : value;
  if (typeof whole !== "bigint" && !Number.isInteger(whole)) return null;
  if (Number(whole) < min) return `at least ${min}`;
  return max !== undefined && (whole as number | bigint) > max ? `at most ${max}` : null;
}

/**
 * The problem of a value that is no whole number within limits, to follow its name: `: at most 15`, ` is not a whole number
 * (1 to 15)`.
 * @param value a number, or its digits
 */
export function rangeProblem(value: unknown, range: Range): string {
  const limit = exceededLimit(value, range);
  if (limit !== null) return `: ${limit}`;
  const { min, max } = range;
  return ` is not a whole number (${max === undefined ? `${min} or more` : `${min} to ${max}`})`;
}

/** As `rangeProblem`, of a value that is no seed. */
export function seedProblem(value: unknown): string {
  const range = { min: 0, max: MAX_SEED };
  const isAbove = exceededLimit(value, { ...range, min: Number.NEGATIVE_INFINITY }) !== null;
  if (isAbove) return ` is above ${MAX_SEED}, the largest that any generator takes`;
  if (exceededLimit(value, range) === null && Number.isInteger(value))
    return " is rounded by JavaScript: give its digits as text";
  return rangeProblem(value, range);
}

/**
 * Parses a whole number within limits.
 * @param limits.advised the limits for messages, if those are checked later
 * @throws UsageError naming the flag
 */
export function wholeNumberOption(
  label: string,
  text: string,
  limits: { min: number; max?: number; advised?: Range },
): number {
  const { min, max = Number.MAX_SAFE_INTEGER, advised = limits } = limits;
  const value = /^-?\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const range = Number.isNaN(value) ? advised : { max, ...advised };
  throw new UsageError(`${label} ${JSON.stringify(text)}${rangeProblem(text, range)}.`);
}

/** @throws UsageError naming the flag */
export function seedOption(label: string, text: string): WholeNumber {
  const seed = parseSeed(text);
  if (seed !== null) return seed;
  throw new UsageError(`${label} ${JSON.stringify(text)}${seedProblem(text)}.`, {
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
