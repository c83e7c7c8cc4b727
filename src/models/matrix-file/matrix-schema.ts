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

/** One model of a matrix file. Missing columns come from the built-in model of the same id, or from the defaults. */
export type MatrixEntry = Columns & Pick<Model, "id">;

/** An invalid value of a model matrix. `message` has its path and the problem, without a full stop. */
export class MatrixProblem extends Error {
  /** @param at the path of the value: `models[2].ratios[0]` */
  constructor(at: string, why: string) {
    super(`${at} ${why}`);
  }
}

/** A schema for each field: one that is missing, or of another type, does not compile. */
type Fields<Values> = { [Name in keyof Values]-?: z.ZodMiniType<Values[Name]> };

const EMPTY = "must not be empty; null says that it is not known";

/** The message of a schema. @param words description of a valid value */
function must(words: string) {
  const error = ({ input }: { input?: unknown }) =>
    input === undefined ? "is missing" : `must be ${words}, not ${valueText(input)}`;
  return { error };
}

/** An object without further fields. */
function object<Shape extends z.core.$ZodShape>(shape: Shape) {
  const { error } = must("an object");
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? `is not a field; ${knownFields(issue.keys[0] ?? "", Object.keys(shape))}`
        : error(issue),
  });
}

function wholeNumber(min: number, max?: number) {
  const words = must(`a whole number ${max === undefined ? `of ${min} or more` : `from ${min} to ${max}`}`);
  return z.int(words).check(z.gte(min, words), z.lte(max ?? Number.MAX_SAFE_INTEGER, words));
}

function text(words: string, test: (text: string) => boolean) {
  return z.string(must(words)).check(z.refine(test, must(words)));
}

function oneOf<Word extends string>(words: readonly Word[]) {
  return z.enum(words, must(`one of ${words.join(", ")}`));
}

/** A list in which nothing occurs twice. */
function uniqueList<Value>(form: z.ZodMiniType<Value>) {
  return z.array(form, must("a list")).check(({ value, issues }) => {
    const earlier = new Set<Value>();
    const repeated = value.findIndex((item) => earlier.size === earlier.add(item).size);
    if (repeated !== -1)
      issues.push({ code: "custom", path: [repeated], input: value, message: "is in the list already" });
  });
}

const maybe = z.exactOptional;
const trueOrFalse = z.boolean(must("true or false"));
const price = maybe(wholeNumber(0));
const quality = oneOf(QUALITIES);
const ratio = text("width:height in whole numbers, or auto", isWellFormedRatio);

const references = object({
  min: wholeNumber(0),
  max: z.nullable(wholeNumber(0)),
  httpsOnly: trueOrFalse,
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
  // Without any price, the lowest price would be infinite.
  z.refine((each) => Object.keys(each).length > 0, EMPTY),
);

const entry = object({
  // `imggen compare --model` splits ids at commas.
  id: text(
    `an id of at most ${MAX_ID_LENGTH} characters without spaces and commas`,
    (id) => id.length <= MAX_ID_LENGTH && /^[^\s,\p{C}]+$/u.test(id),
  ),
  kinds: maybe(z.nullable(uniqueList(oneOf(KINDS)).check(z.minLength(1, EMPTY)))),
  ratios: maybe(z.nullable(uniqueList(ratio).check(z.minLength(1, EMPTY)))),
  defaultRatio: maybe(ratio),
  qualities: maybe(z.nullable(uniqueList(quality))),
  defaultQuality: maybe(z.nullable(quality)),
  maxImages: maybe(z.nullable(wholeNumber(MAX_IMAGES.min, MAX_IMAGES.max))),
  promptLimit: maybe(wholeNumber(1)),
  references: maybe(z.nullable(references)),
  credits: maybe(z.nullable(prices)),
  documented: maybe(trueOrFalse),
  notes: maybe(uniqueList(text("a text", (note) => note.trim() !== ""))),
} satisfies Fields<MatrixEntry>);

const document = z.array(entry, must('a list of models ([{"id": …}, …])'));

/** The entries of a matrix file. @throws MatrixProblem for the first problem; unknown fields come before others */
export function readEntries(json: unknown): readonly MatrixEntry[] {
  const { data, error } = document.safeParse(json);
  if (error === undefined) return data;
  const { issues } = error;
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? (issues[0] as z.core.$ZodIssue);
  const path = issue.code === "unrecognized_keys" ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path;
  throw new MatrixProblem(path.length === 0 ? "it" : path.reduce(fieldPath, "models"), issue.message);
}

/** A field's path. Names can have any characters, so unusual ones are quoted: `models[0]["max images"]`. */
function fieldPath(at: string, name: PropertyKey): string {
  if (typeof name === "number") return `${at}[${name}]`;
  const text = String(name);
  return /^[a-z]\w{0,39}$/i.test(text) ? `${at}.${text}` : `${at}[${valueText(text)}]`;
}

/** Suggests a field that differs in at most a third of its letters. */
function knownFields(key: string, names: readonly string[]): string {
  const distance = (name: string) => editDistance(key.toLowerCase().slice(0, 40), name.toLowerCase());
  const [nearest = ""] = [...names].sort((a, b) => distance(a) - distance(b));
  return distance(nearest) * 3 <= nearest.length
    ? `the nearest is ${nearest}`
    : `the fields are ${names.join(", ")}`;
}

const MAX_VALUE_LENGTH = 60;

/** A value of a JSON document, for a message. */
export function valueText(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return truncate(JSON.stringify(value), MAX_VALUE_LENGTH);
}
