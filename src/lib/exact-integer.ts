/** A number up to 2^53 - 1, or the digits of a larger number (such as a 64-bit seed) as text. */
export type WholeNumber = number | string;

/** The largest seed that any provider supports: 64 bits. */
export const MAX_SEED = 2n ** 64n - 1n;

/** Returns null unless the value is a whole number from 0 to 2^64 - 1. */
export function parseSeed(value: unknown): WholeNumber | null {
  const isDigits = typeof value === "string" && /^\d{1,20}$/.test(value.trim());
  if (!isDigits && !(typeof value === "number" && Number.isSafeInteger(value) && value >= 0)) return null;
  const exact = BigInt(value);
  return exact <= MAX_SEED ? toWholeNumber(exact) : null;
}

/** Returns the seed of the image that is `offset` images after the first image; null above `MAX_SEED`. */
export function nextSeed(seed: WholeNumber, offset: number): WholeNumber | null {
  const exact = BigInt(seed) + BigInt(offset);
  return exact <= MAX_SEED ? toWholeNumber(exact) : null;
}

function toWholeNumber(exact: bigint): WholeNumber {
  return exact <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(exact) : String(exact);
}

/** A whole number in JSON that a JavaScript number would round. */
export class ExactInteger {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  toJSON(): string {
    return this.digits;
  }

  toString(): string {
    return this.digits;
  }
}

/** Converts a seed that a JavaScript number would round, so that `stringifyExact` writes the exact number. */
export function toExactSeed<Value>(value: Value): Value | ExactInteger {
  const isLong =
    typeof value === "string" && /^\d{16,20}$/.test(value) && !Number.isSafeInteger(Number(value));
  return isLong ? new ExactInteger(value) : value;
}

const TEXT_OR_NUMBER = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /^-?\d{16,}$/;

/** As `JSON.parse`, but returns an `ExactInteger` for an integer that a number would round. @throws SyntaxError */
export function parseExact(text: string): unknown {
  const json: unknown = JSON.parse(text);
  if (!/\d{16}/.test(text)) return json;
  const isRounded = (token: string) => LONG_INTEGER.test(token) && !Number.isSafeInteger(Number(token));
  // A random mark, which no string in the JSON contains.
  const mark = crypto.randomUUID();
  const markedText = text.replace(TEXT_OR_NUMBER, (token) =>
    isRounded(token) ? `"${mark}${token}"` : token,
  );
  return JSON.parse(markedText, (_name, value) =>
    typeof value === "string" && value.startsWith(mark) ? new ExactInteger(value.slice(mark.length)) : value,
  );
}

/** As `JSON.stringify`, but writes each `ExactInteger` as a number. */
export function stringifyExact(
  value: unknown,
  replace: (name: string, value: unknown) => unknown = (_name, original) => original,
): string {
  let mark = "";
  // Reads the value from the object, because the callback's second argument is the result of `toJSON`.
  const text = JSON.stringify(value, function (this: Record<string, unknown>, name) {
    const replaced = replace(name, this[name]);
    if (!(replaced instanceof ExactInteger)) return replaced;
    mark ||= crypto.randomUUID();
    return `${mark}${replaced.digits}`;
  });
  return mark ? text.replace(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1") : text;
}
