import { parseExact } from "../lib/exact-integer.ts";
import { isJsonObject, jsonOrNull } from "../lib/json.ts";
import type { StoredReply } from "./stored-reply.ts";

/** Numbers that are none in JSON. */
const NO_NUMBER = /-?\b(?:NaN|Infinity)\b/g;

/** As `jsonOrNull`; `NaN` and `Infinity`, which servers in Python write, are read as null. */
export function parseLenientJson(text: string): unknown {
  const json = jsonOrNull(text);
  return json === null && /\b(?:NaN|Infinity)\b/.test(text) ? jsonOrNull(withNulls(text)) : json;
}

/** As `lenientJson`, with all digits of a long number: a seed of 64 bits would be rounded. */
export function parseExactJson(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return parseLenientJson(text);
  }
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

/**
 * The JSON of a reply; null for another text, undefined for JSON that was cut short. The end of a connection is all that
 * ends some replies: whether one is whole, only its JSON can tell, whatever the connection did.
 */
export function parseReplyJson({ body, cut }: StoredReply): unknown {
  const text = body.toString("utf8").replace(/^\uFEFF/, "");
  const json = parseLenientJson(text);
  return json === null && (cut !== null || /^\s*([{[]|$)/.test(text)) ? undefined : json;
}

/**
 * The fields of a JSON object whose end is missing. Only whole fields count: the last character ends a text, an object and a
 * list; the comma after it ends any other value.
 */
export function parseTruncatedFields(cut: string): Readonly<Record<string, unknown>> {
  const text = cut.replace(/^\uFEFF/, "");
  // The last may be the end of a field's name.
  for (const end of endsIn(text).slice(-2).reverse()) {
    const fields = jsonOrNull(`${text.slice(0, end)}}`);
    if (isJsonObject(fields)) return fields;
  }
  return {};
}

/** Where names and values of the outermost object end. */
function endsIn(text: string): number[] {
  const ends: number[] = [];
  let depth = 0;
  let isText = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isText && character === "\\") at += 1;
    else if (character === '"') isText = !isText;
    else if (isText) continue;
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    if (depth !== 1 || isText) continue;
    if (character === ",") ends.push(at);
    else if (character === '"' || character === "}" || character === "]") ends.push(at + 1);
  }
  return ends;
}
