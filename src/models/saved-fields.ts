import type { RequestInput } from "../task/request.ts";
import type { InputFields } from "../task/request-fields.ts";
import { quality } from "./rules/quality.ts";
import { ratio } from "./rules/ratio.ts";
import { type Labels, leftOut, type RuleInput, takenText } from "./rules/rule.ts";

// Fields with a value in config.json. It was stored for another model or provider perhaps, so one that is not supported
// does not stop a request.

export type SavedFields = Pick<InputFields, "ratio" | "quality" | "seed" | "negative" | "fields">;

/** A request with the saved values in it, and a warning for each that is left out. */
export interface WithSaved {
  input: RequestInput;
  warnings: string[];
}

const RULES = { ratio, quality } as const;
const RULED = ["ratio", "quality"] as const;

/** Labels of the saved values that a request takes. */
export function savedLabels(input: SavedFields, saved: SavedFields = {}): Partial<Labels> {
  const names = RULED.filter((name) => input[name] === undefined && saved[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, `${name} from config.json`]));
}

/** Adds the saved ratio and quality to a request that names none, unchecked. */
export function withAllSaved(input: RequestInput, { ratio, quality }: SavedFields = {}): RequestInput {
  return { ...input, ratio: input.ratio ?? ratio, quality: input.quality ?? quality };
}

/** Adds the saved ratio and quality to a request that names none, if its model supports them. */
export function withSaved(subject: RuleInput, saved: SavedFields, isChecked: boolean): WithSaved {
  const input = withAllSaved(subject.input, saved);
  const warnings: string[] = [];
  for (const name of isChecked ? RULED : []) {
    if (input[name] === undefined || subject.input[name] !== undefined) continue;
    const finding = RULES[name]({ ...subject, input });
    if (finding?.kind !== "refusal" || finding.limit === undefined) continue;
    warnings.push(leftOut(name, input[name], `${takenText(subject.model.id, finding.limit)}.`));
    delete input[name];
  }
  return { input, warnings };
}

/** A warning for each saved field that only a generator has. */
export function leftOutByService({ seed, negative, fields }: SavedFields): string[] {
  const values = Object.entries({ seed, negative, ...fields }).filter(([, value]) => value !== undefined);
  return values.map(([name, value]) => leftOut(name, value, "The service does not support it."));
}

/**
 * Leaves out the saved values that a provider does not support.
 * @param given the request without any saved value
 * @param problemOf a sentence about a part of a request that the provider does not support; null for none
 */
export function withoutUnsupported(
  input: RequestInput,
  given: SavedFields,
  saved: SavedFields,
  problemOf: (input: RequestInput) => string | null,
): WithSaved {
  const warnings: string[] = [];
  let rest = savedIn(input, given, saved);
  let result = input;
  for (let problem = problemOf(input); problem !== null; problem = problemOf(result)) {
    const cause = causeOf(problem, rest, (names) => problemOf(without(result, names)));
    if (cause.length === 0) break;
    for (const name of cause) warnings.push(leftOut(name, valueIn(result, name), problem));
    result = without(result, cause);
    rest = rest.filter((name) => !cause.includes(name));
  }
  return { input: result, warnings };
}

/** The smallest set of names without which a problem is gone; empty if it has another cause. */
function causeOf(
  problem: string,
  names: readonly string[],
  problemWithout: (names: readonly string[]) => string | null,
): readonly string[] {
  const end = names.findIndex((_name, at) => problemWithout(names.slice(0, at + 1)) !== problem);
  const needed = names.slice(0, end + 1);
  return needed.reduce((kept: readonly string[], name) => {
    const fewer = kept.filter((each) => each !== name);
    return problemWithout(fewer) === problem ? kept : fewer;
  }, needed);
}

const PLAIN = ["ratio", "quality", "seed", "negative"] as const;

function isPlain(name: string): name is (typeof PLAIN)[number] {
  return PLAIN.some((each) => each === name);
}

/** The names of the saved values in a request. */
function savedIn(input: RequestInput, given: SavedFields, saved: SavedFields): readonly string[] {
  const plain = PLAIN.filter((name) => saved[name] !== undefined && given[name] === undefined);
  const own = Object.keys(saved.fields ?? {}).filter(
    (name) => input.fields?.[name] === saved.fields?.[name] && !Object.hasOwn(given.fields ?? {}, name),
  );
  return [...plain.filter((name) => input[name] !== undefined), ...own];
}

function valueIn(input: RequestInput, name: string): unknown {
  return isPlain(name) ? input[name] : input.fields?.[name];
}

function without(input: RequestInput, names: readonly string[]): RequestInput {
  const isKept = ([name]: [string, unknown]) => !names.includes(name);
  const plain = Object.fromEntries(
    Object.entries(input).filter((entry) => !isPlain(entry[0]) || isKept(entry)),
  );
  const fields = Object.fromEntries(Object.entries(input.fields ?? {}).filter((entry) => isKept(entry)));
  return { ...plain, prompt: input.prompt, ...(input.fields && { fields }) };
}
