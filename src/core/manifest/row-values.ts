import {
  type FieldForm,
  type FieldName,
  fieldsFrom,
  type GivenFields,
  type GivenValue,
  REQUEST_FIELDS,
} from "../../task/request-fields.ts";
import type { Column, RawValues } from "./columns.ts";
import type { RowValues } from "./entry.ts";
import { outputNameProblem } from "./output-name.ts";
import { quoted } from "./quoted.ts";

/** A row's values, or all their problems. They are not checked against the models. */
export function checkValues(raw: RawValues): { values: RowValues } | { problems: string[] } {
  const reader = new ValueReader(raw);
  const prompt = reader.prompt();
  const fields = fieldsFrom<GivenFields>((name) =>
    name === "prompt" ? prompt : reader.read<GivenFields[FieldName]>(name, READERS[REQUEST_FIELDS[name]]),
  );
  const output = reader.output();
  if (reader.problems.length > 0) return { problems: reader.problems };
  return { values: { ...fields, prompt, ...(output !== undefined && { output }) } };
}

/** How a value is read, and what messages say that the column takes. */
interface Reader<Value> {
  as: (value: unknown) => Value | undefined;
  takes: string;
}

const TEXT: Reader<string> = {
  as: (value) => (typeof value === "string" ? value : undefined),
  takes: "text",
};

const TEXTS: Reader<string[]> = {
  as: (value) => {
    const list: unknown[] = Array.isArray(value) ? value : [value];
    return list.every((each) => typeof each === "string") ? list : undefined;
  },
  takes: "a URL or a list of URLs",
};

/** A number, or its digits as text, because CSV cells are text. */
const WHOLE_NUMBER: Reader<number> = {
  as: (value) => {
    const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
    return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
  },
  takes: "a whole number",
};

const READERS: { [Form in FieldForm]: Reader<GivenValue<Form>> } = {
  text: TEXT,
  texts: TEXTS,
  number: WHOLE_NUMBER,
};

class ValueReader {
  readonly problems: string[] = [];
  readonly #raw: RawValues;

  constructor(raw: RawValues) {
    this.#raw = raw;
  }

  /** A column's value; undefined if it is not set or not valid. */
  read<Value>(column: Column, { as, takes }: Reader<Value>): Value | undefined {
    const raw = this.#raw[column] ?? undefined;
    if (raw === undefined) return undefined;
    const value = as(raw);
    if (value === undefined) this.problems.push(`${column} is ${described(raw)}, not ${takes}`);
    return value;
  }

  prompt(): string {
    const prompt = this.read("prompt", TEXT);
    if ((this.#raw.prompt ?? undefined) === undefined) this.problems.push("there is no prompt");
    else if (prompt?.trim() === "") this.problems.push("the prompt is empty");
    return prompt ?? "";
  }

  output(): string | undefined {
    const output = this.read("output", TEXT);
    const problem = output === undefined ? null : outputNameProblem(output);
    if (output !== undefined && problem !== null) this.problems.push(`output ${quoted(output)}: ${problem}`);
    return output;
  }
}

function described(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? quoted(value) : String(value);
}
