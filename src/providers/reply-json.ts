import { parseExact } from "../lib/exact-integer.ts";
import { isJsonObject, jsonOrNull } from "../lib/json.ts";
import type { StoredReply } from "./stored-reply.ts";

const INVALID_NUMBER = /-?\b(?:NaN|Infinity)\b/g;

/** Like `jsonOrNull`, but reads `NaN` and `Infinity`, which servers in Python write, as null. */
export function parseLenientJson(text: string): unknown {
  const json = jsonOrNull(text);
  return json === null && /\b(?:NaN|Infinity)\b/.test(text) ? jsonOrNull(replaceInvalidNumbers(text)) : json;
}

/** Like `parseLenientJson`, but keeps all digits of long numbers: a seed of 64 bits would be rounded. */
export function parseExactJson(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return parseLenientJson(text);
  }
}

/** Skips strings without a pattern, because an image in base64 is too long for one. */
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
 * Returns undefined for an incomplete reply, and null for a complete one that is not JSON. Complete JSON counts
 * whatever the connection did, because some replies end only with their connection.
 */
export function parseReplyJson({ body, cut }: StoredReply): unknown {
  const text = body.toString("utf8").replace(/^\uFEFF/, "");
  const json = parseLenientJson(text);
  return json === null && (cut !== null || /^\s*([{[]|$)/.test(text)) ? undefined : json;
}

/** Parses the complete fields of a JSON object whose end is missing. A number is complete only before a comma. */
export function parseTruncatedFields(truncated: string): Readonly<Record<string, unknown>> {
  const text = truncated.replace(/^\uFEFF/, "");
  // The last end may belong to a field's name instead of a value.
  for (const end of findFieldEnds(text).slice(-2).reverse()) {
    const fields = jsonOrNull(`${text.slice(0, end)}}`);
    if (isJsonObject(fields)) return fields;
  }
  return {};
}

/** Positions at which names and values of the outermost object end. */
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
