import { UsageError } from "../lib/error-types.ts";
import { pairsIn } from "../lib/pairs.ts";
import { wholeNumberOption } from "../lib/whole-number.ts";
import { basicOrBearer } from "../providers/kind.ts";
import { type GeneratorSpec, isServerKind, KINDS } from "../providers/kinds.ts";
import { refuseWrapped, visibleKey } from "./account.ts";

const SIZE_FORMS = ["WxH", "width,height", "aspect_ratio"] as const;

/** The longest side, in pixels, of an image of 1K. @throws UsageError */
export function pixelsOption(label: string, text: string): number {
  return wholeNumberOption(label, text, { min: 64, max: 8192 });
}

/** How many requests a generator gets at once. @throws UsageError */
export function placesOption(label: string, text: string): number {
  return wholeNumberOption(label, text, { min: 1, max: 64 });
}

/** How a size is sent. @throws UsageError */
export function sizeFormOption(label: string, text: string): (typeof SIZE_FORMS)[number] {
  const form = SIZE_FORMS.find((each) => each.toLowerCase() === text.trim().toLowerCase());
  if (form !== undefined) return form;
  throw new UsageError(`${label} ${JSON.stringify(text)} is none of ${SIZE_FORMS.join(", ")}.`);
}

/** Headers that HTTP itself needs. */
const HTTP_HEADERS = /^(?:host|content-|transfer-encoding|connection|expect|te|upgrade|trailer)/i;

/** Headers of every request, as `name=VARIABLE`: the names of the variables. @throws UsageError */
export function headersOption(label: string, text: string): Record<string, string> {
  const pairs = pairsIn(label, text, "api-key=AZURE_OPENAI_KEY");
  for (const [name, variable] of pairs) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || HTTP_HEADERS.test(name))
      throw new UsageError(`${label}: ${JSON.stringify(name)} cannot be set as a header.`);
    if (!/^[A-Za-z_]\w*$/.test(variable))
      throw new UsageError(`${label}: after ${name}= comes the name of a variable that holds the value.`, {
        hint: "The value itself is never an argument, because other users can see a program's arguments.",
      });
  }
  return Object.fromEntries(pairs);
}

/** The values that the variables of headers hold. @throws UsageError */
export function headerValues(
  names: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string | undefined>>,
  label: string,
): Record<string, string> {
  const entries = Object.entries(names).map(([name, variable]) => {
    const value = env[variable];
    if (value === undefined || value === "")
      throw new UsageError(`${label}: the variable ${variable} is not set.`);
    return [name, checkSecret(value, variable)] as const;
  });
  return Object.fromEntries(entries);
}

/** A key as it goes into a header. @throws UsageError if it cannot be one */
export function checkSecret(given: string, label: string): string {
  const key = visibleKey(given, label);
  refuseWrapped(key, label);
  if (key !== "" && /^[\x20-\x7e\xa1-\xff]+$/.test(key) && key.trim() === key) return key;
  throw new UsageError(
    `${label} cannot be sent: it is empty, or holds a line break or a character beyond Latin-1.`,
  );
}

/**
 * A generator's key; or `user:password`, which some kinds are sent as UTF-8 in Base64, so it may hold any character but
 * controls.
 * @param kind of the generator; null if it is not known yet @throws UsageError if it cannot be sent
 */
export function checkGeneratorKey(given: string, label: string, kind: GeneratorSpec["kind"] | null): string {
  const key = visibleKey(given, label);
  const hasLogin = kind === null || (isServerKind(kind) && KINDS[kind].keyHeaders === basicOrBearer);
  if (!hasLogin || !key.includes(":")) return checkSecret(key, label);
  refuseWrapped(key, label);
  if (!/\p{Cc}/u.test(key) && key.isWellFormed()) return key;
  throw new UsageError(`${label} cannot be sent: it holds a line break or another control character.`);
}
