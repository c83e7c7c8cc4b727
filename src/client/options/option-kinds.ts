import { parseDurationOption } from "../../lib/duration.ts";
import { UsageError } from "../../lib/error-types.ts";
import { MAX_SEED, parseSeed } from "../../lib/exact-integer.ts";
import { requireNotEmpty, requirePath } from "../../lib/home-folder.ts";
import {
  findExceededLimit,
  hasSeveralSeeds,
  parseSeedOption,
  parseSeedsOption,
  parseWholeNumberOption,
} from "../../lib/whole-number.ts";
import { isProviderFields } from "../../task/request-fields.ts";
import { type Kind, longFlag, type Option, RANDOM } from "./option.ts";

interface KindRow {
  /** Parses the value of a flag. Default: the text unchanged. @throws UsageError */
  parse?: (text: string, label: string, option: Option) => unknown;
  isValid: (value: unknown) => boolean;
  /** Completes the sentence "must be …". */
  words: string;
  range?: { min: number; max?: bigint };
}

const isText = (value: unknown) => typeof value === "string";
const TEXT: KindRow = { isValid: isText, words: "a string" };
const PATH: KindRow = {
  parse: (text, label) => requirePath(text, label),
  isValid: (value) => isText(value) && value !== "",
  words: "a path that is not empty",
};
const WHOLE: KindRow = {
  parse: parseWholeNumber,
  isValid: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  words: "a whole number",
  range: { min: 0 },
};
const SEED: KindRow = {
  parse: parseOneSeed,
  isValid: (value) => parseSeed(value) !== null,
  words: "a whole number, given as a string if it is above 2^53 - 1",
  range: { min: 0, max: MAX_SEED },
};
const SWITCH: KindRow = { isValid: (value) => typeof value === "boolean", words: "true or false" };
const TEXTS: KindRow = {
  parse: (text) => [text],
  isValid: (value) => [value].flat().every(isText),
  words: "a string or a list of strings",
};

const KINDS: Readonly<Record<Kind, KindRow>> = {
  text: {
    ...TEXT,
    parse: (text, label, { choices }) => (choices ? parseChoice(text, label, choices) : text),
  },
  path: PATH,
  folder: PATH,
  url: TEXT,
  whole: WHOLE,
  seed: SEED,
  seeds: {
    parse: (text, label) => parseSeedsOption(label, text),
    isValid: (value) => Array.isArray(value) && value.every(SEED.isValid),
    words: "a list of whole numbers",
  },
  seedOrRandom: {
    parse: (text, label) => (text === RANDOM ? text : parseOneSeed(text, label)),
    isValid: (value) => value === RANDOM || SEED.isValid(value),
    words: `${RANDOM}, or ${SEED.words}`,
  },
  duration: {
    ...WHOLE,
    parse: (text, label, { min = 0 }) => parseDurationOption(label, text, { minMs: min }),
  },
  flag: SWITCH,
  on: SWITCH,
  texts: TEXTS,
  images: { ...TEXTS, parse: (text, label) => [requireNotEmpty(text, label)] },
  list: TEXTS,
  fields: { isValid: isProviderFields, words: "an object of JSON values" },
  signal: { isValid: (value) => value instanceof AbortSignal, words: "an AbortSignal" },
  listener: { isValid: (value) => typeof value === "function", words: "a function" },
};

/** @throws UsageError */
export function parseFlag(option: Option, text: string): unknown {
  const parse = option.isSetting ? undefined : KINDS[option.kind].parse;
  return parse ? parse(text, longFlag(option), option) : text;
}

function parseWholeNumber(text: string, label: string, { min = 0, max, isAdvisory }: Option): number {
  if (isAdvisory)
    return parseWholeNumberOption(label, text, {
      min: 0,
      advised: { min, ...(max !== undefined && { max }) },
    });
  return parseWholeNumberOption(label, text, { min, ...(max !== undefined && { max }) });
}

/** @throws UsageError */
function parseOneSeed(text: string, label: string) {
  if (!hasSeveralSeeds(text)) return parseSeedOption(label, text);
  const hint = `Nothing was sent. For several seeds: imggen generate <prompt> --seed ${text}`;
  throw new UsageError(`${label} must be one number for this command.`, { hint });
}

/** Parses a choice. The case of letters is ignored. @throws UsageError */
export function parseChoice<Choice extends string>(
  text: string,
  label: string,
  choices: readonly Choice[],
): Choice {
  const choice = choices.find((each) => each.toLowerCase() === text.toLowerCase());
  if (choice !== undefined) return choice;
  const problem = choices.length === 2 ? `neither ${choices.join(" nor ")}` : `none of ${choices.join(", ")}`;
  throw new UsageError(`${label} ${JSON.stringify(text)} is ${problem}.`);
}

/** Returns the broken requirement as the end of a sentence; null for a valid value. */
export function valueProblem(option: Option, value: unknown): string | null {
  const { kind, choices, min = 0, max, isAdvisory } = option;
  const { isValid, words, range } = KINDS[kind];
  if (!isValid(value)) return (range && findExceededLimit(value, { ...range, min })) ?? words;
  if (choices && !choices.includes(String(value))) return `one of ${choices.join(", ")}`;
  if (typeof value !== "number" || isAdvisory) return null;
  if (max === undefined) return value < min ? `at least ${min}` : null;
  return value < min || value > max ? `${min} to ${max}` : null;
}
