import type { RequestInput } from "../task/request.ts";
import type { InputFields } from "../task/request-fields.ts";
import { quality } from "./rules/quality.ts";
import { ratio } from "./rules/ratio.ts";
import { allowedText, type Labels, leftOutWarning, type RuleInput } from "./rules/rule.ts";

// Fields with a value in config.json. It was stored for another model or provider perhaps, so one that is not supported
// does not stop a request.

export type SavedFields = Pick<InputFields, "ratio" | "quality" | "seed" | "negative" | "fields">;

/** A request with saved values, and a warning for each that is left out. */
export interface WithSaved {
  input: RequestInput;
  warnings: string[];
}

const RULES = { ratio, quality } as const;
const CHECKED_NAMES = ["ratio", "quality"] as const;

/** Labels of the saved values in a request. */
export function savedLabels(input: SavedFields, savedFields: SavedFields = {}): Partial<Labels> {
  const names = CHECKED_NAMES.filter((name) => input[name] === undefined && savedFields[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, `${name} from config.json`]));
}

/** Adds the saved ratio and quality without checks. */
export function withAllSaved(input: RequestInput, { ratio, quality }: SavedFields = {}): RequestInput {
  return { ...input, ratio: input.ratio ?? ratio, quality: input.quality ?? quality };
}

/** Adds the saved ratio and quality to a request that names none, if its model supports them. */
export function withSaved(subject: RuleInput, savedFields: SavedFields, isChecked: boolean): WithSaved {
  const input = withAllSaved(subject.input, savedFields);
  const warnings: string[] = [];
  for (const name of isChecked ? CHECKED_NAMES : []) {
    if (input[name] === undefined || subject.input[name] !== undefined) continue;
    const finding = RULES[name]({ ...subject, input });
    if (finding?.kind !== "refusal" || finding.limit === undefined) continue;
    warnings.push(leftOutWarning(name, input[name], `${allowedText(subject.model.id, finding.limit)}.`));
    delete input[name];
  }
  return { input, warnings };
}

/** A warning for each saved field that the service does not support. */
export function generatorFieldWarnings({ seed, negative, fields }: SavedFields): string[] {
  const values = Object.entries({ seed, negative, ...fields }).filter(([, value]) => value !== undefined);
  return values.map(([name, value]) => leftOutWarning(name, value, "The service does not support it."));
}

/**
 * Leaves out saved values that a provider does not support.
 * @param original the request without saved values
 * @param findProblem a sentence about an unsupported part of a request; null for none
 */
export function withoutUnsupported(
  input: RequestInput,
  original: SavedFields,
  savedFields: SavedFields,
  findProblem: (input: RequestInput) => string | null,
): WithSaved {
  const warnings: string[] = [];
  let rest = savedNames(input, original, savedFields);
  let result = input;
  for (let problem = findProblem(input); problem !== null; problem = findProblem(result)) {
    const cause = findCause(problem, rest, (names) => findProblem(without(result, names)));
    if (cause.length === 0) break;
    for (const name of cause) warnings.push(leftOutWarning(name, fieldValue(result, name), problem));
    result = without(result, cause);
    rest = rest.filter((name) => !cause.includes(name));
  }
  return { input: result, warnings };
}

/** The smallest set of fields that causes a problem; empty if it has another cause. */
function findCause(
  problem: string,
  names: readonly string[],
  problemWithout: (names: readonly string[]) => string | null,
): readonly string[] {
  const end = names.findIndex((_name, at) => problemWithout(names.slice(0, at + 1)) !== problem);
  const candidates = names.slice(0, end + 1);
  return candidates.reduce((causes: readonly string[], name) => {
    const fewer = causes.filter((each) => each !== name);
    return problemWithout(fewer) === problem ? causes : fewer;
  }, candidates);
}

const PLAIN = ["ratio", "quality", "seed", "negative"] as const;

function isPlain(name: string): name is (typeof PLAIN)[number] {
  return PLAIN.some((each) => each === name);
}

/** The names of the saved values in a request. */
function savedNames(input: RequestInput, original: SavedFields, savedFields: SavedFields): readonly string[] {
  const plain = PLAIN.filter((name) => savedFields[name] !== undefined && original[name] === undefined);
  const fieldNames = Object.keys(savedFields.fields ?? {}).filter(
    (name) =>
      input.fields?.[name] === savedFields.fields?.[name] && !Object.hasOwn(original.fields ?? {}, name),
  );
  return [...plain.filter((name) => input[name] !== undefined), ...fieldNames];
}

function fieldValue(input: RequestInput, name: string): unknown {
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
