import { UsageError } from "../../lib/error-types.ts";
import { MAX_SEED, parseSeed, type WholeNumber } from "../../lib/exact-integer.ts";
import { findExceededLimit } from "../../lib/whole-number.ts";
import { MAX_IMAGES } from "../../models/matrix.ts";
import { jsonFields, providerFields } from "../../models/provider-fields.ts";
import {
  type FieldForm,
  type FieldName,
  fieldsFrom,
  type InputFields,
  type InputValue,
  isProviderFields,
  type ProviderFields,
  REQUEST_FIELDS,
} from "../../task/request-fields.ts";
import {
  fillTemplate,
  findColumn,
  type ManifestColumn,
  missingProblem,
  type OtherColumns,
  quote,
  type RawValues,
  type ReadOptions,
  type RowValues,
} from "./entry.ts";
import { outputNameProblem } from "./output-name.ts";

/** Returns all problems of a row at once. The values are not checked against the models yet. */
export function checkValues(
  raw: RawValues,
  others: OtherColumns,
  { template }: ReadOptions,
): { values: RowValues } | { problems: string[] } {
  const reader = new ValueReader(raw);
  const isTemplated = template !== undefined && (raw.prompt ?? undefined) === undefined;
  const prompt = isTemplated ? reader.fillPrompt(template, others) : reader.prompt();
  const fields = fieldsFrom<InputFields>((name) =>
    name === "prompt" ? prompt : reader.read<InputFields[FieldName]>(name, READERS[REQUEST_FIELDS[name]]),
  );
  const output = reader.output();
  if (reader.problems.length > 0) return { problems: reader.problems };
  return { values: { ...fields, prompt, ...(output !== undefined && { output }) } };
}

interface Reader<Value> {
  /** @throws UsageError with a more precise problem than `expected` */
  convert: (value: unknown) => Value | undefined;
  expected: string;
  /** Problem of a value that is out of range; null for other values. */
  findLimit?: (value: unknown) => string | null;
}

const TEXT: Reader<string> = {
  convert: (value) => (typeof value === "string" ? value : undefined),
  expected: "text",
};

const TEXTS: Reader<string[]> = {
  convert: (value) => {
    const list: unknown[] = Array.isArray(value) ? value : [value];
    return list.every((each) => typeof each === "string") ? list : undefined;
  },
  expected: "a URL or a list of URLs",
};

/** A number, or its digits as text, because CSV cells are text. */
const WHOLE_NUMBER: Reader<number> = {
  convert: (value) => {
    const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
    return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
  },
  expected: "a whole number",
  findLimit: (value) => findExceededLimit(value, MAX_IMAGES),
};

/** A number, or its digits as text. A number above 2^53 - 1 must be text, because JSON.parse would round it. */
const SEED: Reader<WholeNumber> = {
  convert: (value) => parseSeed(value) ?? undefined,
  expected: `a whole number from 0 to ${MAX_SEED} (in quotes if it is above ${Number.MAX_SAFE_INTEGER})`,
  findLimit: (value) => findExceededLimit(value, { min: 0, max: MAX_SEED }),
};

/** An object, or the words of a CSV cell: `steps=20 cfg_scale=7`. */
const PAIRS: Reader<ProviderFields> = {
  convert: (value) => {
    if (typeof value === "string")
      return value.startsWith("{") ? jsonFields("fields", value) : providerFields("fields", value);
    return isProviderFields(value) ? value : undefined;
  },
  expected: "fields such as steps=20",
};

const READERS: { [Form in FieldForm]: Reader<InputValue<Form>> } = {
  text: TEXT,
  texts: TEXTS,
  number: WHOLE_NUMBER,
  seed: SEED,
  pairs: PAIRS,
};

export const NO_PROMPT = "the prompt is missing";

class ValueReader {
  readonly problems: string[] = [];
  readonly #raw: RawValues;

  constructor(raw: RawValues) {
    this.#raw = raw;
  }

  read<Value>(column: ManifestColumn, { convert, expected, findLimit }: Reader<Value>): Value | undefined {
    const raw = this.#raw[column] ?? undefined;
    if (raw === undefined) return undefined;
    try {
      const value = convert(raw);
      const exceeded = value === undefined ? findLimit?.(raw) : null;
      if (exceeded) this.problems.push(`${column} is ${describeValue(raw)}: ${exceeded}`);
      else if (value === undefined) this.problems.push(`${column} is ${describeValue(raw)}, not ${expected}`);
      return value;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      this.problems.push(error.message.replace(/\.$/, ""));
      return undefined;
    }
  }

  prompt(): string {
    const prompt = this.read("prompt", TEXT);
    if ((this.#raw.prompt ?? undefined) === undefined) this.problems.push(NO_PROMPT);
    else if (prompt?.trim() === "") this.problems.push("the prompt is empty");
    return prompt ?? "";
  }

  fillPrompt(template: string, others: OtherColumns): string {
    const getRaw = (column: ManifestColumn | undefined) =>
      column === undefined ? undefined : this.#raw[column];
    const getText = (name: string) => others.get(name) ?? toText(getRaw(findColumn(name)));
    const filled = fillTemplate(template, getText);
    if ("text" in filled) return filled.text;
    this.problems.push(missingProblem("the template", filled.missing));
    return "";
  }

  output(): string | undefined {
    const output = this.read("output", TEXT);
    const problem = output === undefined ? null : outputNameProblem(output);
    if (output !== undefined && problem !== null) this.problems.push(`output ${quote(output)}: ${problem}`);
    return output;
  }
}

export function toText(value: unknown): string | undefined {
  const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return isPlain ? String(value) : undefined;
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? quote(value) : String(value);
}
