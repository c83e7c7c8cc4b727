import { parseSeed, type WholeNumber } from "../lib/exact-integer.ts";
import { isJsonObject, isJsonValue, type JsonValue } from "../lib/json.ts";

/** A generator's field names for a seed and a negative prompt; absent: unsupported. */
export interface FieldNames {
  readonly seed?: string;
  readonly negative?: string;
}

/** The seed of the first image, incremented for each further one, under the provider's field name. */
export interface RepeatedSeed {
  field: string;
  first: WholeNumber;
}

/** The forms of a field's value: the user's input, and in the body of a submit. */
interface FieldValues {
  text: { input: string; wire: string };
  number: { input: number; wire: number };
  seed: { input: WholeNumber; wire: WholeNumber };
  /** A single text may be sent as a string or a list. */
  texts: { input: readonly string[]; wire: string | string[] };
  pairs: { input: ProviderFields; wire: ProviderFields };
}

/** Fields under the provider's names, sent unchanged: `steps`, `cfg_scale`. */
export type ProviderFields = Readonly<Record<string, JsonValue>>;

export type FieldForm = keyof FieldValues;

/**
 * All fields of a request, in the order on the wire: those of section 2.2 of the service's document, then those for
 * the user's own generator. Everything that handles requests field by field is derived from this table, or does not
 * compile until it is complete: the body of a submit, the ledger's reader, a batch row's digest, the columns of a
 * manifest, flags and labels.
 */
export const REQUEST_FIELDS = {
  prompt: "text",
  /** Canonical id of section 2.4, or any string under `--no-validate`. */
  model: "text",
  /** `auto` or `w:h`. */
  ratio: "text",
  /** URLs of reference images. */
  image: "texts",
  /** Number of images. */
  maxImages: "number",
  quality: "text",
  /** The seed of the first image, incremented for each further one. */
  seed: "seed",
  negative: "text",
  fields: "pairs",
} as const satisfies Readonly<Record<string, FieldForm>>;

type Fields = typeof REQUEST_FIELDS;
export type FieldName = keyof Fields;

export type InputValue<Form extends FieldForm> = FieldValues[Form]["input"];

/** The user's fields. */
export type InputFields = {
  -readonly [Name in keyof Fields]?: InputValue<Fields[Name]> | undefined;
};
/** The fields on the wire. */
export type WireFields = { -readonly [Name in keyof Fields]?: FieldValues[Fields[Name]]["wire"] };

export const FIELD_NAMES = Object.keys(REQUEST_FIELDS).filter(isFieldName);

export function isFieldName(name: string): name is FieldName {
  return Object.hasOwn(REQUEST_FIELDS, name);
}

/** The fields with a value, in the table's order. The value must have the field's form. */
export function fieldsFrom<Fields extends InputFields | WireFields>(
  valueFor: (name: FieldName) => Fields[FieldName],
): Fields {
  const entries = FIELD_NAMES.map((name) => [name, valueFor(name)] as const);
  // The compiler cannot match names and values; tests cover all of them.
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Fields;
}

const isText = (value: unknown) => typeof value === "string";

/** Checks of the form on the wire. */
const HAS_FORM: Readonly<Record<FieldForm, (value: unknown) => boolean>> = {
  text: isText,
  number: (value) => typeof value === "number",
  seed: (value) => typeof value === "number" || parseSeed(value) !== null,
  texts: (value) => [value].flat().every(isText),
  pairs: isProviderFields,
};

export function isProviderFields(value: unknown): value is ProviderFields {
  return isJsonObject(value) && isJsonValue(value);
}

/** Whether all known fields of a JSON object have their form. Other names are ignored. */
export function areWireFields(object: Readonly<Record<string, unknown>>): object is WireFields {
  return malformedField(object) === undefined;
}

/** The first field of a JSON object with a value of another form. */
export function malformedField(object: Readonly<Record<string, unknown>>): FieldName | undefined {
  return FIELD_NAMES.find((name) => {
    const value = object[name];
    return value !== undefined && !HAS_FORM[REQUEST_FIELDS[name]](value);
  });
}
