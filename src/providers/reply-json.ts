import { parseExact } from "../lib/exact-integer.ts";
import { isJsonObject, jsonOrNull } from "../lib/json.ts";
import type { StoredReply } from "./stored-reply.ts";

const INVALID_NUMBER = /-?\b(?:NaN|Infinity)\b/g;

/** Parses JSON, and replaces `NaN` and `Infinity` with null, because servers in Python write these values. */
export function parseLenientJson(text: string): unknown {
  const json = jsonOrNull(text);
  return json === null && /\b(?:NaN|Infinity)\b/.test(text) ? jsonOrNull(replaceInvalidNumbers(text)) : json;
}

/** Like `parseLenientJson`, but keeps all digits of long numbers, because rounding would change a 64-bit seed. */
export function parseExactJson(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return parseLenientJson(text);
  }
}

/** Finds strings without a regular expression, because a base64 image is too long for a regular expression. */
function replaceInvalidNumbers(text: string): string {
  const parts: string[] = [];
  for (let start = 0; start < text.length; ) {
    const quote = text.indexOf('"', start);
    const end = quote === -1 ? text.length : quote;
    parts.push(text.slice(start, end).replace(INVALID_NUMBER, "null"));
    start = quote === -1 ? end : endOfString(text, quote);
    parts.push(text.slice(end, start));
  }
  return parts.join("");
}

function endOfString(text: string, quote: number): number {
  for (let at = text.indexOf('"', quote + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return at + 1;
  }
  return text.length;
}

/**
 * Parses a reply's body. Returns undefined if the body is incomplete, and null if the body is complete but not JSON.
 * Complete JSON is valid even if `cut` is set, because some servers end a reply only by closing the connection.
 */
export function parseReplyJson({ body, cut }: StoredReply): unknown {
  const text = body.toString("utf8").replace(/^\uFEFF/, "");
  const json = parseLenientJson(text);
  return json === null && (cut !== null || /^\s*([{[]|$)/.test(text)) ? undefined : json;
}

/** Parses the complete fields of a cut JSON object. Omits a number at the end, because digits might be missing. */
export function parseTruncatedFields(truncated: string): Readonly<Record<string, unknown>> {
  const text = truncated.replace(/^\uFEFF/, "");
  // The last position might be the end of a field's name, so the previous position is tried too.
  for (const end of findFieldEnds(text).slice(-2).reverse()) {
    const fields = jsonOrNull(`${text.slice(0, end)}}`);
    if (isJsonObject(fields)) return fields;
  }
  return {};
}

/** Returns the positions at which names and values of the outermost object end. */
function findFieldEnds(text: string): number[] {
  const ends: number[] = [];
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isInString && character === "\\") at += 1;
    else if (character === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    if (depth !== 1 || isInString) continue;
    if (character === ",") ends.push(at);
    else if (character === '"' || character === "}" || character === "]") ends.push(at + 1);
  }
  return ends;
}
