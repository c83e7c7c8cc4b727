const MIN_SHOWN_LENGTH = 20;

/**
 * A URL for display: without its query and fragment (either may hold a signature) and without user name and password.
 * `?…` replaces a query. Text that is not a URL is cut at its first `?` or `#`.
 */
export function withoutQuery(url: string): string {
  if (!URL.canParse(url)) return withoutUser(url.split(/[?#]/, 1)[0] ?? "");
  const parsed = new URL(url);
  const mark = parsed.search === "" ? "" : "?…";
  parsed.search = "";
  parsed.hash = "";
  parsed.username = "";
  parsed.password = "";
  return parsed.href + mark;
}

function withoutUser(text: string): string {
  return text.replace(/\/\/[^/]*@/, "//");
}

/** Prefix of the keys of `imggen serve`: no other service has such a key. */
export const SERVER_KEY = "sk-serve-";

/** Whether a key is one of an `imggen serve`, which knows more than the service's document names. */
export function isServerKey(key: string): boolean {
  return key.startsWith(SERVER_KEY);
}

/** Replaces the hidden part of an API key. */
export const KEY_MASK = "sk-…";

/** An API key for display: `sk-…` (`…` for other secrets) and, unless the key is short, its last four characters. */
export function maskKey(key: string): string {
  const mask = key.startsWith("sk-") ? KEY_MASK : "…";
  return key.length < MIN_SHOWN_LENGTH ? mask : `${mask}${key.slice(-4)}`;
}

/** Minimum length at which a key cut off by the end of the text is recognised. */
const MIN_CUT_LENGTH = 8;

/**
 * Masks an API key anywhere in untrusted text: in any letter case, percent-encoded (even twice), with JSON escapes, or
 * cut off by the end of the text after at least 8 characters.
 */
export function keyMasker(key: string): (text: string) => string {
  if (key === "") return (text) => text;
  const mask = maskKey(key);
  // Compiled at the first reply, not before the submit, where it would only cost time. Compiling the whole pattern
  // takes many times as long, and hardly any text has even the start of the key.
  let start: RegExp | null = null;
  let whole: RegExp | null = null;
  return (text) => {
    start ??= new RegExp(startPattern(characterPatterns(key)), "i");
    if (!start.test(text)) return text;
    whole ??= keyPattern(characterPatterns(key));
    return text.replace(whole, () => mask);
  };
}

function startPattern(spellings: readonly string[]): string {
  return spellings.slice(0, MIN_CUT_LENGTH).join("");
}

function keyPattern(spellings: readonly string[]): RegExp {
  const rest = spellings.slice(MIN_CUT_LENGTH);
  const cutOff = rest.reduceRight((after, spelling) => `(?:${spelling}${after})?`, "");
  return new RegExp(`${spellings.join("")}|${startPattern(spellings)}${cutOff}$`, "gi");
}

function characterPatterns(key: string): string[] {
  return [...key].map(characterPattern);
}

/** A pattern for a character as itself, in JSON, and in a URL. The pattern's flag ignores letter case. */
function characterPattern(character: string): string {
  const both = [character.toLowerCase(), character.toUpperCase()];
  const escaped = both.flatMap((each) => [
    `\\\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
    [...Buffer.from(each)].map((byte) => `%(?:25)*${byte.toString(16).padStart(2, "0")}`).join(""),
  ]);
  return `(?:\\\\?${character.replace(/[^a-z0-9]/gi, "\\$&")}|${[...new Set(escaped)].join("|")})`;
}

/** A shorter header value is not a secret but, for example, a version; masking it would mask ordinary words. */
const MIN_VALUE_LENGTH = 8;
const MIN_PASSWORD_LENGTH = 4;

/**
 * Masks the key and the values of the user's headers in texts for people, in the forms in which a server may repeat
 * them. URLs that are fetched must stay unmasked.
 */
export function secretsMasker(
  key: string | null,
  headers: Readonly<Record<string, string>>,
): (text: string) => string {
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(" ")]);
  const headerSecrets = values.filter((value) => value.length >= MIN_VALUE_LENGTH);
  const secrets = new Set([...(key === null ? [] : keyForms(key)), ...headerSecrets]);
  const maskers = [...secrets].map(keyMasker);
  return (text) => maskers.reduce((masked, mask) => mask(masked), text);
}

/** The key; for `user:password` also its base64 form and the password. */
function keyForms(key: string): string[] {
  const colon = key.indexOf(":");
  if (colon === -1) return [key];
  const password = key.slice(colon + 1);
  const basic = Buffer.from(key).toString("base64").replace(/=+$/, "");
  return [key, basic, ...(password.length < MIN_PASSWORD_LENGTH ? [] : [password])];
}
