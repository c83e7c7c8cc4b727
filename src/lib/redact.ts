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

/** An API key for people: `sk-…` and its last four characters, or none of them where the key is short. */
export function maskKey(key: string): string {
  return key.length < LONG_ENOUGH ? "sk-…" : `sk-…${key.slice(-4)}`;
}
