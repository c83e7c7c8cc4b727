import type { Column, RawValues } from "./columns.ts";
import type { RowValues } from "./entry.ts";
import { outputNameProblem } from "./output-name.ts";
import { quoted } from "./quoted.ts";

/** A row's values, or all that is wrong with them. What the models take is not looked at. */
export function checkValues(raw: RawValues): { values: RowValues } | { problems: string[] } {
  const reader = new ValueReader(raw);
  const prompt = reader.prompt();
  const model = reader.read("model", asText, "text");
  const ratio = reader.read("ratio", asText, "text");
  const quality = reader.read("quality", asText, "text");
  const images = reader.read("image", asTexts, "a URL or a list of URLs");
  const maxImages = reader.read("maxImages", asWholeNumber, "a whole number");
  const output = reader.output();
  if (reader.problems.length > 0) return { problems: reader.problems };
  return {
    values: {
      prompt,
      ...(model !== undefined && { model }),
      ...(ratio !== undefined && { ratio }),
      ...(quality !== undefined && { quality }),
      ...(images !== undefined && { images }),
      ...(maxImages !== undefined && { maxImages }),
      ...(output !== undefined && { output }),
    },
  };
}

class ValueReader {
  readonly problems: string[] = [];
  readonly #raw: RawValues;

  constructor(raw: RawValues) {
    this.#raw = raw;
  }

  /** A column's value; undefined where it is not set, or is not what the column takes. */
  read<Value>(column: Column, as: (value: unknown) => Value | undefined, takes: string): Value | undefined {
    const raw = this.#raw[column] ?? undefined;
    if (raw === undefined) return undefined;
    const value = as(raw);
    if (value === undefined) this.problems.push(`${column} is ${described(raw)}, not ${takes}`);
    return value;
  }

  prompt(): string {
    const prompt = this.read("prompt", asText, "text");
    if ((this.#raw.prompt ?? undefined) === undefined) this.problems.push("there is no prompt");
    else if (prompt?.trim() === "") this.problems.push("the prompt is empty");
    return prompt ?? "";
  }

  output(): string | undefined {
    const output = this.read("output", asText, "text");
    const problem = output === undefined ? null : outputNameProblem(output);
    if (output !== undefined && problem !== null) this.problems.push(`output ${quoted(output)}: ${problem}`);
    return output;
  }
}

function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function asTexts(value: unknown): string[] | undefined {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.every((each) => typeof each === "string") ? list : undefined;
}

/** A number, or its digits as text: a CSV has nothing else. */
function asWholeNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

function described(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? quoted(value) : String(value);
}
