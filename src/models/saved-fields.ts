import type { RequestInput } from "../task/request.ts";
import type { InputFields } from "../task/request-fields.ts";
import { quality } from "./rules/quality.ts";
import { ratio } from "./rules/ratio.ts";
import { allowedText, type Labels, leftOutWarning, type RuleInput } from "./rules/rule.ts";

// Values in config.json can be for another model or provider, so unsupported values are omitted and not refused.

export type SavedFields = Pick<InputFields, "ratio" | "quality" | "seed" | "negative" | "fields">;

export interface MergedInput {
  input: RequestInput;
  warnings: string[];
}

const CHECKED_RULES = { ratio, quality } as const;
const CHECKED_NAMES = ["ratio", "quality"] as const;

export function savedLabels(input: SavedFields, savedFields: SavedFields = {}): Partial<Labels> {
  const names = CHECKED_NAMES.filter((name) => input[name] === undefined && savedFields[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, `${name} from config.json`]));
}

export function withSavedSize(input: RequestInput, { ratio, quality }: SavedFields = {}): RequestInput {
  return { ...input, ratio: input.ratio ?? ratio, quality: input.quality ?? quality };
}

export function withSaved(subject: RuleInput, savedFields: SavedFields, isChecked: boolean): MergedInput {
  const input = withSavedSize(subject.input, savedFields);
  const warnings: string[] = [];
  for (const name of isChecked ? CHECKED_NAMES : []) {
    if (input[name] === undefined || subject.input[name] !== undefined) continue;
    const finding = CHECKED_RULES[name]({ ...subject, input });
    if (finding?.kind !== "refusal" || finding.limit === undefined) continue;
    warnings.push(leftOutWarning(name, input[name], `${allowedText(subject.model.id, finding.limit)}.`));
    delete input[name];
  }
  return { input, warnings };
}

export function generatorFieldWarnings({ seed, negative, fields }: SavedFields): string[] {
  const values = Object.entries({ seed, negative, ...fields }).filter(([, value]) => value !== undefined);
  return values.map(([name, value]) => leftOutWarning(name, value, "The service does not support it."));
}

/** `findProblem` returns a sentence about an unsupported part of the input, or null. */
export function omitUnsupported(
  input: RequestInput,
  original: SavedFields,
  savedFields: SavedFields,
  findProblem: (input: RequestInput) => string | null,
): MergedInput {
  const warnings: string[] = [];
  let rest = savedNames(input, original, savedFields);
  let result = input;
  for (let problem = findProblem(input); problem !== null; problem = findProblem(result)) {
    const cause = findCause(problem, rest, (names) => findProblem(omitFields(result, names)));
    if (cause.length === 0) break;
    for (const name of cause) warnings.push(leftOutWarning(name, fieldValue(result, name), problem));
    result = omitFields(result, cause);
    rest = rest.filter((name) => !cause.includes(name));
  }
  return { input: result, warnings };
}

/** Returns the smallest set of fields that causes a problem, or an empty list if the problem has another cause. */
function findCause(
  problem: string,
  names: readonly string[],
  problemWithout: (names: readonly string[]) => string | null,
): readonly string[] {
  const endIndex = names.findIndex((_name, at) => problemWithout(names.slice(0, at + 1)) !== problem);
  const candidates = names.slice(0, endIndex + 1);
  return candidates.reduce((causes: readonly string[], name) => {
    const remaining = causes.filter((each) => each !== name);
    return problemWithout(remaining) === problem ? causes : remaining;
  }, candidates);
}

const PLAIN_NAMES = ["ratio", "quality", "seed", "negative"] as const;

function isPlain(name: string): name is (typeof PLAIN_NAMES)[number] {
  return PLAIN_NAMES.some((each) => each === name);
}

function savedNames(input: RequestInput, original: SavedFields, savedFields: SavedFields): readonly string[] {
  const plainNames = PLAIN_NAMES.filter(
    (name) => savedFields[name] !== undefined && original[name] === undefined,
  );
  const fieldNames = Object.keys(savedFields.fields ?? {}).filter(
    (name) =>
      input.fields?.[name] === savedFields.fields?.[name] && !Object.hasOwn(original.fields ?? {}, name),
  );
  return [...plainNames.filter((name) => input[name] !== undefined), ...fieldNames];
}

function fieldValue(input: RequestInput, name: string): unknown {
  return isPlain(name) ? input[name] : input.fields?.[name];
}

function omitFields(input: RequestInput, names: readonly string[]): RequestInput {
  const isRemaining = ([name]: [string, unknown]) => !names.includes(name);
  const plainFields = Object.fromEntries(
    Object.entries(input).filter((entry) => !isPlain(entry[0]) || isRemaining(entry)),
  );
  const fields = Object.fromEntries(Object.entries(input.fields ?? {}).filter((entry) => isRemaining(entry)));
  return { ...plainFields, prompt: input.prompt, ...(input.fields && { fields }) };
}
