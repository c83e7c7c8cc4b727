import { fieldsOf, isJsonObject, isJsonValue, jsonOrNull } from "../lib/json.ts";
import type { Usage } from "../task/line.ts";

/** Maximum depth of a value that is read, because a server might nest thousands of levels. */
const MAX_DEPTH = 8;
/** Maximum size of a recorded usage report, in bytes. */
const MAX_USAGE_BYTES = 16 * 1024;

/** Reads the reported cost and tokens. Omits large or deep fields, so that the image can be saved. */
export function readUsage(usage: unknown, mask: (text: string) => string): Usage | null {
  let remainingBytes = MAX_USAGE_BYTES;
  const usageFields = Object.entries(fieldsOf(usage)).filter(([name, value]) => {
    const bytes = isJsonValue(value, MAX_DEPTH)
      ? Buffer.byteLength(JSON.stringify({ [name]: value }))
      : remainingBytes;
    if (bytes >= remainingBytes) return false;
    remainingBytes -= bytes;
    return true;
  });
  const masked = jsonOrNull(mask(JSON.stringify(Object.fromEntries(usageFields))));
  return usageFields.length > 0 && isJsonObject(masked) ? masked : null;
}

/** Matches `has_nsfw_concepts` of fal, `nsfw_content_detected` of diffusers, and similar names. */
const NSFW_FIELD = /^(?:has_|is_)?nsfw(?:_(?:concepts?|content|flags?))?(?:_detected)?$/i;

/** Returns a warning if the service marked an image as unsafe, because such an image can be black and charged. */
export function imageWarnings(reply: unknown, host: string): string[] {
  return isFlagged(reply, MAX_DEPTH)
    ? [`${host} marked an image as not safe for work, so it may be black or blurred.`]
    : [];
}

function isFlagged(value: unknown, depth: number): boolean {
  if (depth === 0 || typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((entry) => isFlagged(entry, depth - 1));
  if (!isJsonObject(value)) return false;
  // `input` and `request` repeat the user's request, so a mark in these fields is not from the service.
  const fields = Object.entries(value).filter(([name]) => name !== "input" && name !== "request");
  return fields.some(
    ([name, entry]) =>
      (NSFW_FIELD.test(name) && [entry].flat().includes(true)) || isFlagged(entry, depth - 1),
  );
}

const MAX_EXCERPT_BYTES = 4096;

/** Returns the first 4 KiB of a reply's body, with the API key hidden, or null for an empty body. */
export function replyExcerpt(body: string, maskKey: (text: string) => string): string | null {
  if (body === "") return null;
  // The body is masked before it is cut, because a part of a key would not be recognized.
  const excerpt = Buffer.from(maskKey(body)).subarray(0, MAX_EXCERPT_BYTES).toString("utf8");
  return excerpt.replace(/\ufffd$/, "");
}
