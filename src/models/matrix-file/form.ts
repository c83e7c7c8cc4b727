import { editDistance } from "../edit-distance.ts";
import { MatrixProblem, shownValue } from "./problem.ts";

// The forms that values of a matrix file have. Written by hand, because a schema library takes longer to load than the
// whole program, and its messages would have to be rewritten anyway.

/** Takes a value that has its form. @param at the path of the value @throws MatrixProblem if it has another */
export type Form<Value> = (value: unknown, at: string) => Value;

/** @param words what a value must be, after "must be" */
function matching<Value>(test: (value: unknown) => value is Value, words: string): Form<Value> {
  return (value, at) => {
    if (test(value)) return value;
    throw new MatrixProblem(at, `must be ${words}, not ${shownValue(value)}`);
  };
}

export const trueOrFalse = matching((value) => typeof value === "boolean", "true or false");

export function text(test: (text: string) => boolean, words: string): Form<string> {
  return matching((value): value is string => typeof value === "string" && test(value), words);
}

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): Form<number> {
  const words = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
  const isInside = (value: unknown): value is number =>
    typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max;
  return matching(isInside, `a whole number ${words}`);
}

export function oneOf<Word extends string>(words: readonly Word[]): Form<Word> {
  const isOne = (value: unknown): value is Word => words.some((word) => word === value);
  return matching(isOne, `one of ${words.join(", ")}`);
}

export function orNull<Value>(form: Form<Value>): Form<Value | null> {
  return (value, at) => (value === null ? null : form(value, at));
}

/** A list in which nothing occurs twice. */
export function listOf<Value>(form: Form<Value>, { min }: { min: 0 | 1 }): Form<Value[]> {
  return (value, at) => {
    if (!Array.isArray(value)) throw new MatrixProblem(at, `must be a list, not ${shownValue(value)}`);
    if (value.length < min) throw new MatrixProblem(at, "must not be empty; null says that it is not known");
    const places = new Map<unknown, string>();
    return value.map((item: unknown, index) => {
      const place = `${at}[${index}]`;
      const earlier = places.get(item);
      if (earlier !== undefined) throw new MatrixProblem(place, `repeats ${earlier}`);
      places.set(item, place);
      return form(item, place);
    });
  };
}

type Forms<Values> = { readonly [Name in keyof Values]-?: Form<Values[Name]> };

/** An object that has some of these fields, and no others. */
export function someOf<Values extends object>(forms: Forms<Values>): Form<Partial<Values>> {
  const names = Object.keys(forms) as (keyof Values & string)[];
  return (value, at) => {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new MatrixProblem(at, `must be an object, not ${shownValue(value)}`);
    const given = Object.entries(value).map(([key, each]) => {
      const name = names.find((known) => known === key);
      if (name === undefined)
        throw new MatrixProblem(fieldAt(at, key), `is not a field; ${knownFields(key, names)}`);
      return [name, forms[name](each, fieldAt(at, name))] as const;
    });
    return Object.fromEntries(given) as Partial<Values>;
  };
}

/** An object that has all of these fields, and no others. */
export function allOf<Values extends object>(forms: Forms<Values>): Form<Values> {
  const some = someOf(forms);
  return (value, at) => {
    const fields = some(value, at);
    const missing = Object.keys(forms).find((name) => !Object.hasOwn(fields, name));
    if (missing !== undefined) throw new MatrixProblem(fieldAt(at, missing), "is missing");
    return fields as Values;
  };
}

/** A field's path; a name that is no word in quotes, because anything can be one: `models[0]["max images"]`. */
function fieldAt(at: string, name: string): string {
  return /^[a-z]\w{0,39}$/i.test(name) ? `${at}.${name}` : `${at}[${shownValue(name)}]`;
}

/** A name is mistaken for one that differs in at most a third of its letters. */
function knownFields(key: string, names: readonly string[]): string {
  const distance = (name: string) => editDistance(key.toLowerCase().slice(0, 40), name.toLowerCase());
  const [nearest = ""] = [...names].sort((a, b) => distance(a) - distance(b));
  return distance(nearest) * 3 <= nearest.length
    ? `the nearest is ${nearest}`
    : `the fields are ${names.join(", ")}`;
}
