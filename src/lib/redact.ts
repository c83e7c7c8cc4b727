const MIN_SHOWN_LENGTH = 20;

/** Removes the parts of a URL that can contain secrets: user name, password, fragment, and query (replaced by `?…`). */
export function redactUrl(url: string): string {
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

export const SERVER_KEY_PREFIX = "sk-serve-";

/** Whether a key belongs to `imggen serve`, which has more features than the service's document. */
export function isServerKey(key: string): boolean {
  return key.startsWith(SERVER_KEY_PREFIX);
}

export const KEY_MASK = "sk-…";

/** Masks an API key for display: `sk-…` (`…` for another secret), and the last four characters of a long key. */
export function maskKey(key: string): string {
  const mask = key.startsWith("sk-") ? KEY_MASK : "…";
  return key.length < MIN_SHOWN_LENGTH ? mask : `${mask}${key.slice(-4)}`;
}

/** Minimum number of characters by which a truncated key is recognised at the end of a text. */
const MIN_CUT_LENGTH = 8;

/** Masks a key in untrusted text: in any letter case, percent-encoded (even twice), JSON-escaped, or cut at the end. */
export function keyMasker(key: string): (text: string) => string {
  if (key === "") return (text) => text;
  const mask = maskKey(key);
  // Compiled at first use, so that they do not delay the submit. The slow full pattern runs only after a prefix match.
  let prefixPattern: RegExp | null = null;
  let fullPattern: RegExp | null = null;
  return (text) => {
    prefixPattern ??= new RegExp(startPattern(characterPatterns(key)), "i");
    if (!prefixPattern.test(text)) return text;
    fullPattern ??= keyPattern(characterPatterns(key));
    return text.replace(fullPattern, () => mask);
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

function characterPattern(character: string): string {
  const letterCases = [character.toLowerCase(), character.toUpperCase()];
  const escaped = letterCases.flatMap((each) => [
    `\\\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
    [...Buffer.from(each)].map((byte) => `%(?:25)*${byte.toString(16).padStart(2, "0")}`).join(""),
  ]);
  return `(?:\\\\?${character.replace(/[^a-z0-9]/gi, "\\$&")}|${[...new Set(escaped)].join("|")})`;
}

/** Minimum length of a masked header value. Shorter values (versions) are not secrets, and occur in ordinary text. */
const MIN_VALUE_LENGTH = 8;
const MIN_PASSWORD_LENGTH = 4;

/** Masks the key and header values in every form in which a server might repeat them. Never fetch a masked URL. */
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

function keyForms(key: string): string[] {
  const colon = key.indexOf(":");
  if (colon === -1) return [key];
  const password = key.slice(colon + 1);
  const basic = Buffer.from(key).toString("base64").replace(/=+$/, "");
  return [key, basic, ...(password.length < MIN_PASSWORD_LENGTH ? [] : [password])];
}
