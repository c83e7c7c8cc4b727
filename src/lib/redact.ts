const LONG_ENOUGH = 20;

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

/**
 * An API key for display: `sk-…` and its last four characters, or only `sk-…` if the key is short. Of another secret
 * without `sk-`.
 */
export function maskKey(key: string): string {
  const mask = key.startsWith("sk-") ? KEY_MASK : "…";
  return key.length < LONG_ENOUGH ? mask : `${mask}${key.slice(-4)}`;
}

/** A key that is cut off by the end of the text is recognised by at least this many characters. */
const SHORTEST_CUT = 8;

/**
 * Masks an API key anywhere in untrusted text: in any letter case, percent-encoded (even twice), with JSON escapes, or
 * cut off by the end of the text after at least 8 characters.
 */
export function keyMasker(key: string): (text: string) => string {
  if (key === "") return (text) => text;
  const mask = maskKey(key);
  // Compiled when the first reply arrives: before the submit it would only cost time. Compiling the whole pattern takes
  // many times as long, and hardly any text has even the key's start.
  let start: RegExp | null = null;
  let whole: RegExp | null = null;
  return (text) => {
    start ??= new RegExp(startOf(spellingsOf(key)), "i");
    if (!start.test(text)) return text;
    whole ??= patternOf(spellingsOf(key));
    return text.replace(whole, () => mask);
  };
}

function startOf(spellings: readonly string[]): string {
  return spellings.slice(0, SHORTEST_CUT).join("");
}

function patternOf(spellings: readonly string[]): RegExp {
  const rest = spellings.slice(SHORTEST_CUT);
  const cutOff = rest.reduceRight((after, spelling) => `(?:${spelling}${after})?`, "");
  return new RegExp(`${spellings.join("")}|${startOf(spellings)}${cutOff}$`, "gi");
}

/** A pattern for each character of the key. */
function spellingsOf(key: string): string[] {
  return [...key].map(anySpelling);
}

/** A pattern for a character as itself, in JSON, and in a URL. The pattern's flag ignores letter case. */
function anySpelling(character: string): string {
  const both = [character.toLowerCase(), character.toUpperCase()];
  const escaped = both.flatMap((each) => [
    `\\\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
    [...Buffer.from(each)].map((byte) => `%(?:25)*${byte.toString(16).padStart(2, "0")}`).join(""),
  ]);
  return `(?:\\\\?${character.replace(/[^a-z0-9]/gi, "\\$&")}|${[...new Set(escaped)].join("|")})`;
}

/** A shorter value of a header is not a secret but a version, say, and hiding it would hide words too. */
const SHORTEST_VALUE = 8;
const SHORTEST_PASSWORD = 4;

/**
 * Hides the key and the values of the user's headers in a text that people read: in the forms in which a server may
 * repeat them, too. What is fetched, such as the URL of an image, must stay as it is.
 */
export function secretsMasker(
  key: string | null,
  headers: Readonly<Record<string, string>>,
): (text: string) => string {
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(" ")]);
  const ofHeaders = values.filter((value) => value.length >= SHORTEST_VALUE);
  const secrets = new Set([...(key === null ? [] : formsOf(key)), ...ofHeaders]);
  const maskers = [...secrets].map(keyMasker);
  return (text) => maskers.reduce((masked, mask) => mask(masked), text);
}

/** A key as it is; one that is `user:password` as the header has it as well, and its password alone. */
function formsOf(key: string): string[] {
  const colon = key.indexOf(":");
  if (colon === -1) return [key];
  const password = key.slice(colon + 1);
  const basic = Buffer.from(key).toString("base64").replace(/=+$/, "");
  return [key, basic, ...(password.length < SHORTEST_PASSWORD ? [] : [password])];
}
