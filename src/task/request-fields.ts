import { seedIn, type WholeNumber } from "../lib/exact-integer.ts";
import { isJsonObject, isJsonValue, type JsonValue } from "../lib/json.ts";

/** The names of a generator's fields for a seed and a negative prompt; absent: it has no such field. */
export interface FieldNames {
  readonly seed?: string;
  readonly negative?: string;
}

/** A seed under the provider's name of its field: that of the first image, each further one has the next. */
export interface RepeatedSeed {
  field: string;
  first: WholeNumber;
}

/** The forms that a field's value has: as the user gives it, and in the body of a submit. */
interface FieldValues {
  text: { input: string; sent: string };
  number: { input: number; sent: number };
  seed: { input: WholeNumber; sent: WholeNumber };
  /** One text may be sent as a string or as a list of that one. */
  texts: { input: readonly string[]; sent: string | string[] };
  pairs: { input: ProviderFields; sent: ProviderFields };
}

/** Fields under the provider's own names, sent as they are: `steps`, `cfg_scale`. */
export type ProviderFields = Readonly<Record<string, JsonValue>>;

export type FieldForm = keyof FieldValues;

/**
 * Every field of a request, in the order in which they are sent: those of section 2.2 of the service's document, and then
 * what the user's own generator alone is asked for. Whatever
 * goes through a request field by field is derived from this table, or does not compile while it lacks one: the
 * body of a submit, the ledger's reader, a batch row's digest, the columns of a manifest, flags and labels.
 */
export const REQUEST_FIELDS = {
  prompt: "text",
  /** Canonical id of section 2.4, or any string under `--no-validate`. */
  model: "text",
  /** `auto` or `w:h`. */
  ratio: "text",
  /** URLs of reference images. */
  image: "texts",
  /** How many images to generate. */
  maxImages: "number",
  quality: "text",
  /** The seed of the first image; each further image has the next. */
  seed: "seed",
  /** A negative prompt. */
  negative: "text",
  fields: "pairs",
} as const satisfies Readonly<Record<string, FieldForm>>;

type Fields = typeof REQUEST_FIELDS;
export type FieldName = keyof Fields;

export type GivenValue<Form extends FieldForm> = FieldValues[Form]["input"];

/** Any of the fields, as the user gave them. */
export type GivenFields = {
  -readonly [Name in keyof Fields]?: GivenValue<Fields[Name]> | undefined;
};
/** Any of the fields, as they are sent. */
export type SentFields = { -readonly [Name in keyof Fields]?: FieldValues[Fields[Name]]["sent"] };

export const FIELD_NAMES = Object.keys(REQUEST_FIELDS).filter(isFieldName);

export function isFieldName(name: string): name is FieldName {
  return Object.hasOwn(REQUEST_FIELDS, name);
}

/** The fields that `valueFor` has a value for, in the table's order. The value must have the field's form. */
export function fieldsFrom<Fields extends GivenFields | SentFields>(
  valueFor: (name: FieldName) => Fields[FieldName],
): Fields {
  const entries = FIELD_NAMES.map((name) => [name, valueFor(name)] as const);
  // The compiler does not follow which name has which value; the tests go through all of them.
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Fields;
}

const isText = (value: unknown) => typeof value === "string";

/** Whether a value has a form, as it is sent. */
const HAS_FORM: Readonly<Record<FieldForm, (value: unknown) => boolean>> = {
  text: isText,
  number: (value) => typeof value === "number",
  seed: (value) => typeof value === "number" || seedIn(value) !== null,
  texts: (value) => [value].flat().every(isText),
  pairs: isProviderFields,
};

export function isProviderFields(value: unknown): value is ProviderFields {
  return isJsonObject(value) && isJsonValue(value);
}

/** Whether every field in a JSON object has its form. Names that are no field's are not judged. */
export function areSentFields(object: Readonly<Record<string, unknown>>): object is SentFields {
  return misformedField(object) === undefined;
}

/** The first field in a JSON object that has not its form. */
export function misformedField(object: Readonly<Record<string, unknown>>): FieldName | undefined {
  return FIELD_NAMES.find((name) => {
    const value = object[name];
    return value !== undefined && !HAS_FORM[REQUEST_FIELDS[name]](value);
  });
}
