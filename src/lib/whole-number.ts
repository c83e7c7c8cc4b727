import { UsageError } from "./error-types.ts";
import { MAX_SEED, nextSeed, parseSeed, type WholeNumber } from "./exact-integer.ts";

interface Range {
  min: number | bigint;
  max?: number | bigint;
}

/** Returns the limit that a whole number violates, such as `at most 15`; null for other values. */
export function findExceededLimit(value: unknown, { min, max }: Range): string | null {
  const whole = typeof value === "string" && /^\s*-?\d+\s*$/.test(value) ? BigInt(value) : value;
  if (typeof whole !== "bigint" && !Number.isInteger(whole)) return null;
  if (Number(whole) < min) return `at least ${min}`;
  return max !== undefined && (whole as number | bigint) > max ? `at most ${max}` : null;
}

/** Describes an invalid number by a text that follows its name: `: at most 15`, ` is not a whole number (1 to 15)`. */
export function describeRangeProblem(value: unknown, range: Range): string {
  const limit = findExceededLimit(value, range);
  if (limit !== null) return `: ${limit}`;
  const { min, max } = range;
  return ` is not a whole number (${max === undefined ? `${min} or more` : `${min} to ${max}`})`;
}

export function describeSeedProblem(value: unknown): string {
  const range = { min: 0, max: MAX_SEED };
  const isAbove = findExceededLimit(value, { ...range, min: Number.NEGATIVE_INFINITY }) !== null;
  if (isAbove) return ` is above ${MAX_SEED}, the largest seed of any generator`;
  if (findExceededLimit(value, range) === null && Number.isInteger(value))
    return " is too large for a JavaScript number: give its digits as a string";
  return describeRangeProblem(value, range);
}

/**
 * `limits.advised` replaces the limits in messages, if a later check is stricter.
 * @throws UsageError naming the flag
 */
export function parseWholeNumberOption(
  label: string,
  text: string,
  limits: { min: number; max?: number; advised?: Range },
): number {
  const { min, max = Number.MAX_SAFE_INTEGER, advised = limits } = limits;
  const value = /^-?\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const range = Number.isNaN(value) ? advised : { max, ...advised };
  throw new UsageError(`${label} ${JSON.stringify(text)}${describeRangeProblem(text, range)}.`);
}

/** @throws UsageError naming the flag */
export function parseSeedOption(label: string, text: string): WholeNumber {
  const seed = parseSeed(text);
  if (seed !== null) return seed;
  throw new UsageError(`${label} ${JSON.stringify(text)}${describeSeedProblem(text)}.`, {
    hint: "Nothing was sent. Without a seed, each request uses a new random seed.",
  });
}

const MAX_SEEDS = 1000;

/** Parses numbers and ascending ranges (`3,7`, `1-40`) without duplicates. @throws UsageError naming the flag */
export function parseSeedsOption(label: string, text: string): WholeNumber[] {
  const seeds = new Set<WholeNumber>();
  for (const part of text.split(",").map((part) => part.trim())) {
    const [, from = part, to = part] = /^(\d+)\s*-\s*(\d+)$/.exec(part) ?? [];
    const first = parseSeedOption(label, from);
    const lastOffset = Number(BigInt(parseSeedOption(label, to)) - BigInt(first));
    if (lastOffset < 0)
      throw new UsageError(`${label} ${JSON.stringify(part)}: write the smaller number first.`);
    for (let at = 0; at <= lastOffset && seeds.size <= MAX_SEEDS; at++)
      seeds.add(nextSeed(first, at) ?? first);
  }
  if (seeds.size <= MAX_SEEDS) return [...seeds];
  throw new UsageError(`${label} ${JSON.stringify(text)}: at most ${MAX_SEEDS} seeds.`);
}

export function hasSeveralSeeds(text: string): boolean {
  return /^\s*\d+(?:\s*[-,]\s*\d+)+\s*$/.test(text);
}

export function pluralize(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`;
}

export function groupedDigits(value: number): string {
  return value.toLocaleString("en-US");
}

export function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
