import * as z from "zod/mini";
import { editDistance } from "../../lib/edit-distance.ts";
import { truncate } from "../../lib/short-text.ts";
import { isWellFormedRatio } from "../aspect-ratio.ts";
import {
  type Columns,
  KINDS,
  MAX_ID_LENGTH,
  MAX_IMAGES,
  type Model,
  QUALITIES,
  type References,
} from "../matrix.ts";

/** A model in a matrix file. Columns that are missing come from the built-in model, or from defaults. */
export type MatrixEntry = Columns & Pick<Model, "id">;

/** Invalid value in a model matrix. `message` is the path of the value and the problem, without a full stop. */
export class MatrixProblem extends Error {
  constructor(path: string, problem: string) {
    super(`${path} ${problem}`);
  }
}

/** Makes the compiler require a schema of the right type for each field. */
type Fields<Values> = { [Name in keyof Values]-?: z.ZodMiniType<Values[Name]> };

const EMPTY_PROBLEM = "must not be empty; use null if it is unknown";

/** Returns the error option of a schema. @param words description of a valid value */
function problemMessage(words: string) {
  const error = ({ input }: { input?: unknown }) =>
    input === undefined ? "is missing" : `must be ${words}, not ${valueText(input)}`;
  return { error };
}

function object<Shape extends z.core.$ZodShape>(shape: Shape) {
  const { error } = problemMessage("an object");
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? `is not a field; ${knownFields(issue.keys[0] ?? "", Object.keys(shape))}`
        : error(issue),
  });
}

function wholeNumber(min: number, max?: number) {
  const words = problemMessage(
    `a whole number ${max === undefined ? `of ${min} or more` : `from ${min} to ${max}`}`,
  );
  return z.int(words).check(z.gte(min, words), z.lte(max ?? Number.MAX_SAFE_INTEGER, words));
}

function text(words: string, test: (text: string) => boolean) {
  return z.string(problemMessage(words)).check(z.refine(test, problemMessage(words)));
}

function oneOf<Word extends string>(words: readonly Word[]) {
  return z.enum(words, problemMessage(`one of ${words.join(", ")}`));
}

function uniqueList<Value>(form: z.ZodMiniType<Value>) {
  return z.array(form, problemMessage("a list")).check(({ value, issues }) => {
    const earlier = new Set<Value>();
    const repeated = value.findIndex((item) => earlier.size === earlier.add(item).size);
    if (repeated !== -1)
      issues.push({ code: "custom", path: [repeated], input: value, message: "is in the list already" });
  });
}

const optional = z.exactOptional;
const boolean = z.boolean(problemMessage("true or false"));
const price = optional(wholeNumber(0));
const quality = oneOf(QUALITIES);
const ratio = text("width:height in whole numbers, or auto", isWellFormedRatio);

const references = object({
  min: wholeNumber(0),
  max: z.nullable(wholeNumber(0)),
  httpsOnly: boolean,
} satisfies Fields<References>).check(
  z.refine(({ min, max }) => max === null || max >= min, { path: ["max"], error: "is below min" }),
);

const prices = object({
  basic: price,
  high: price,
  "1K": price,
  "2K": price,
  "4K": price,
  default: price,
} satisfies Fields<NonNullable<Model["credits"]>>).check(
  // Refuses an empty object, because its lowest price would be infinite.
  z.refine((each) => Object.keys(each).length > 0, EMPTY_PROBLEM),
);

const entry = object({
  // Refuses commas, because `imggen compare --model` splits ids at commas.
  id: text(
    `an id of at most ${MAX_ID_LENGTH} characters without spaces and commas`,
    (id) => id.length <= MAX_ID_LENGTH && /^[^\s,\p{C}]+$/u.test(id),
  ),
  kinds: optional(z.nullable(uniqueList(oneOf(KINDS)).check(z.minLength(1, EMPTY_PROBLEM)))),
  ratios: optional(z.nullable(uniqueList(ratio).check(z.minLength(1, EMPTY_PROBLEM)))),
  defaultRatio: optional(ratio),
  qualities: optional(z.nullable(uniqueList(quality))),
  defaultQuality: optional(z.nullable(quality)),
  maxImages: optional(z.nullable(wholeNumber(MAX_IMAGES.min, MAX_IMAGES.max))),
  promptLimit: optional(wholeNumber(1)),
  references: optional(z.nullable(references)),
  credits: optional(z.nullable(prices)),
  documented: optional(boolean),
  notes: optional(uniqueList(text("a text", (note) => note.trim() !== ""))),
} satisfies Fields<MatrixEntry>);

const document = z.array(entry, problemMessage('a list of models ([{"id": …}, …])'));

/** @throws MatrixProblem for the first unknown field, or else for the first problem */
export function readEntries(json: unknown): readonly MatrixEntry[] {
  const { data, error } = document.safeParse(json);
  if (error === undefined) return data;
  const { issues } = error;
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? (issues[0] as z.core.$ZodIssue);
  const path = issue.code === "unrecognized_keys" ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path;
  throw new MatrixProblem(path.length === 0 ? "it" : path.reduce(fieldPath, "models"), issue.message);
}

/** Appends a field name to a path. Unusual names are quoted: `models[0]["max images"]`. */
function fieldPath(at: string, name: PropertyKey): string {
  if (typeof name === "number") return `${at}[${name}]`;
  const text = String(name);
  return /^[a-z]\w{0,39}$/i.test(text) ? `${at}.${text}` : `${at}[${valueText(text)}]`;
}

function knownFields(key: string, names: readonly string[]): string {
  const distance = (name: string) => editDistance(key.toLowerCase().slice(0, 40), name.toLowerCase());
  const [nearest = ""] = [...names].sort((a, b) => distance(a) - distance(b));
  return distance(nearest) * 3 <= nearest.length
    ? `the nearest is ${nearest}`
    : `the fields are ${names.join(", ")}`;
}

const MAX_VALUE_LENGTH = 60;

export function valueText(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return truncate(JSON.stringify(value), MAX_VALUE_LENGTH);
}
