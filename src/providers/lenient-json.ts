import { jsonOrNull } from "../lib/json.ts";

/** Numbers that are none in JSON. */
const NO_NUMBER = /-?\b(?:NaN|Infinity)\b/g;

/** As `jsonOrNull`; `NaN` and `Infinity`, which servers in Python write, are read as null. */
export function lenientJson(text: string): unknown {
  const json = jsonOrNull(text);
  return json === null && /\b(?:NaN|Infinity)\b/.test(text) ? jsonOrNull(withNulls(text)) : json;
}

/** What stands between quotes is stepped over by hand: an image in base64 is too long for a pattern. */
function withNulls(text: string): string {
  const parts: string[] = [];
  for (let from = 0; from < text.length; ) {
    const quote = text.indexOf('"', from);
    const end = quote === -1 ? text.length : quote;
    parts.push(text.slice(from, end).replace(NO_NUMBER, "null"));
    from = quote === -1 ? end : endOfString(text, quote);
    parts.push(text.slice(end, from));
  }
  return parts.join("");
}

/** The position after the closing quote. */
function endOfString(text: string, quote: number): number {
  for (let at = text.indexOf('"', quote + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return at + 1;
  }
  return text.length;
}
