/** A number up to 2^53 - 1, otherwise its digits as text (64-bit seeds). */
export type WholeNumber = number | string;

/** The largest seed that any provider supports: 64 bits. */
export const MAX_SEED = 2n ** 64n - 1n;

/** A seed from 0 to 2^64 - 1; null for anything else. */
export function parseSeed(value: unknown): WholeNumber | null {
  const isDigits = typeof value === "string" && /^\d{1,20}$/.test(value.trim());
  if (!isDigits && !(typeof value === "number" && Number.isSafeInteger(value) && value >= 0)) return null;
  const exact = BigInt(value);
  return exact <= MAX_SEED ? wholeNumber(exact) : null;
}

/**
 * The seed of a further image; null above `MAX_SEED`.
 * @param seed of the first image
 */
export function nextSeed(seed: WholeNumber, further: number): WholeNumber | null {
  const exact = BigInt(seed) + BigInt(further);
  return exact <= MAX_SEED ? wholeNumber(exact) : null;
}

function wholeNumber(exact: bigint): WholeNumber {
  return exact <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(exact) : String(exact);
}

/** A whole number in JSON that a JavaScript number would round. */
export class ExactInteger {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  /** For people and imggen's own JSON: all digits, as text. */
  toJSON(): string {
    return this.digits;
  }

  toString(): string {
    return this.digits;
  }
}

/** The seed as a request's value: digits that a number would round become an exact number. */
export function exactSeed<Value>(value: Value): Value | ExactInteger {
  const isLong =
    typeof value === "string" && /^\d{16,20}$/.test(value) && !Number.isSafeInteger(Number(value));
  return isLong ? new ExactInteger(value) : value;
}

const TEXT_OR_NUMBER = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_INTEGER = /^-?\d{16,}$/;

/**
 * `JSON.parse` that keeps long integers: one that a number would round becomes an `ExactInteger`.
 * @throws SyntaxError
 */
export function parseExact(text: string): unknown {
  const json: unknown = JSON.parse(text);
  if (!/\d{16}/.test(text)) return json;
  const isRounded = (token: string) => LONG_INTEGER.test(token) && !Number.isSafeInteger(Number(token));
  // No text of the value has it.
  const mark = crypto.randomUUID();
  const markedText = text.replace(TEXT_OR_NUMBER, (token) =>
    isRounded(token) ? `"${mark}${token}"` : token,
  );
  return JSON.parse(markedText, (_name, value) =>
    typeof value === "string" && value.startsWith(mark) ? new ExactInteger(value.slice(mark.length)) : value,
  );
}

/**
 * `JSON.stringify` that writes each `ExactInteger` as a number.
 * @param replace returns the value to write in place of another
 */
export function stringifyExact(
  value: unknown,
  replace: (name: string, value: unknown) => unknown = (_name, each) => each,
): string {
  // A random mark, so that no text of the value contains it.
  let mark = "";
  // The second argument is the result of `toJSON`; the object still has the value itself.
  const text = JSON.stringify(value, function (this: Record<string, unknown>, name) {
    const each = replace(name, this[name]);
    if (!(each instanceof ExactInteger)) return each;
    mark ||= crypto.randomUUID();
    return `${mark}${each.digits}`;
  });
  return mark ? text.replace(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1") : text;
}
