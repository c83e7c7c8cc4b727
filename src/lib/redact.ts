const LONG_ENOUGH = 20;

/**
 * A URL for people: without its query and fragment (either may hold a signature) and without a user name or
 * password. `?…` stands where a query was. What is no URL is cut at its first `?` or `#`.
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

/** What stands for the hidden part of an API key. */
export const KEY_MASK = "sk-…";

/** An API key for people: `sk-…` and its last four characters, or none of them where the key is short. */
export function maskKey(key: string): string {
  return key.length < LONG_ENOUGH ? KEY_MASK : `${KEY_MASK}${key.slice(-4)}`;
}

/** So much of a key is recognised where a text breaks off in the middle of it. */
const TELLING_START = 8;

/**
 * Hides an API key wherever it stands in a text that came from elsewhere: in any letter case, percent-encoded (also
 * twice), with JSON's escapes, or cut off by the text's end after 8 characters or more.
 */
export function keyMasker(key: string): (text: string) => string {
  if (key === "") return (text) => text;
  const mask = maskKey(key);
  // Made when a first reply is there: before the submit it would only cost time.
  let pattern: RegExp | null = null;
  return (text) => {
    pattern ??= patternOf(key);
    return text.replace(pattern, () => mask);
  };
}

function patternOf(key: string): RegExp {
  const characters = [...key].map(anySpelling);
  const start = characters.slice(0, TELLING_START).join("");
  const rest = characters.slice(TELLING_START);
  const cutOff = rest.reduceRight((after, character) => `(?:${character}${after})?`, "");
  return new RegExp(`${characters.join("")}|${start}${cutOff}$`, "gi");
}

/** The source of a pattern for a character as it is, in JSON, and in a URL. Its letter case is the pattern's flag's. */
function anySpelling(character: string): string {
  const both = [character.toLowerCase(), character.toUpperCase()];
  const escaped = both.flatMap((each) => [
    `\\\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
    [...Buffer.from(each)].map((byte) => `%(?:25)*${byte.toString(16).padStart(2, "0")}`).join(""),
  ]);
  return `(?:\\\\?${character.replace(/[^a-z0-9]/gi, "\\$&")}|${[...new Set(escaped)].join("|")})`;
}
