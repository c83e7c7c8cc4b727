import { parseSeed, type WholeNumber } from "../lib/exact-integer.ts";
import { isJsonObject, isJsonValue, type JsonValue } from "../lib/json.ts";

/** Names of a generator's fields for a seed and a negative prompt. A field without a name is unsupported. */
export interface FieldNames {
  readonly seed?: string;
  readonly negative?: string;
}

/** Seed of the first image, under the provider's field name. Each further image has the next seed. */
export interface RepeatedSeed {
  field: string;
  first: WholeNumber;
}

interface FieldValues {
  text: { input: string; wire: string };
  number: { input: number; wire: number };
  seed: { input: WholeNumber; wire: WholeNumber };
  /** A list with a single text can be sent as a list or as a string. */
  texts: { input: readonly string[]; wire: string | string[] };
  pairs: { input: ProviderFields; wire: ProviderFields };
}

/** Fields under the provider's names, such as `steps` and `cfg_scale`, which are sent unchanged. */
export type ProviderFields = Readonly<Record<string, JsonValue>>;

export type FieldForm = keyof FieldValues;

/** Fields in the order in which they are sent, section 2.2 first. The compiler finds code that omits a field. */
export const REQUEST_FIELDS = {
  prompt: "text",
  /** Canonical id of section 2.4, or any string under `--no-validate`. */
  model: "text",
  ratio: "text",
  image: "texts",
  maxImages: "number",
  quality: "text",
  seed: "seed",
  negative: "text",
  fields: "pairs",
} as const satisfies Readonly<Record<string, FieldForm>>;

type Fields = typeof REQUEST_FIELDS;
export type FieldName = keyof Fields;

export type InputValue<Form extends FieldForm> = FieldValues[Form]["input"];

export type InputFields = {
  -readonly [Name in keyof Fields]?: InputValue<Fields[Name]> | undefined;
};
export type WireFields = { -readonly [Name in keyof Fields]?: FieldValues[Fields[Name]]["wire"] };

export const FIELD_NAMES = Object.keys(REQUEST_FIELDS).filter(isFieldName);

export function isFieldName(name: string): name is FieldName {
  return Object.hasOwn(REQUEST_FIELDS, name);
}

export function fieldsFrom<Fields extends InputFields | WireFields>(
  valueFor: (name: FieldName) => Fields[FieldName],
): Fields {
  const entries = FIELD_NAMES.map((name) => [name, valueFor(name)] as const);
  // The compiler cannot check that each value belongs to its name, so tests cover all fields.
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Fields;
}

const isText = (value: unknown) => typeof value === "string";

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

/** Whether all known fields of an object have valid types. Unknown fields are ignored. */
export function areWireFields(object: Readonly<Record<string, unknown>>): object is WireFields {
  return malformedField(object) === undefined;
}

export function malformedField(object: Readonly<Record<string, unknown>>): FieldName | undefined {
  return FIELD_NAMES.find((name) => {
    const value = object[name];
    return value !== undefined && !HAS_FORM[REQUEST_FIELDS[name]](value);
  });
}
