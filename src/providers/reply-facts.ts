import { fieldsOf, isJsonObject, isJsonValue, jsonOrNull } from "../lib/json.ts";
import type { Usage } from "../task/line.ts";

/** Deeper levels are not read: a server may nest thousands. */
const MAX_DEPTH = 8;
/** The most that is recorded of a report of cost. */
const MAX_BYTES = 16 * 1024;

/**
 * A provider's report of cost and tokens. Fields that are too large or too deep are left out, so that the image is never lost for
 * them.
 * @param mask hides the key
 */
export function readUsage(usage: unknown, mask: (text: string) => string): Usage | null {
  let room = MAX_BYTES;
  const usageFields = Object.entries(fieldsOf(usage)).filter(([name, value]) => {
    const bytes = isJsonValue(value, MAX_DEPTH) ? Buffer.byteLength(JSON.stringify({ [name]: value })) : room;
    if (bytes >= room) return false;
    room -= bytes;
    return true;
  });
  const masked = jsonOrNull(mask(JSON.stringify(Object.fromEntries(usageFields))));
  return usageFields.length > 0 && isJsonObject(masked) ? masked : null;
}

/** `has_nsfw_concepts` of fal, `nsfw_content_detected` of diffusers, `nsfw` and `is_nsfw` of others. */
const FLAG = /^(?:has_|is_)?nsfw(?:_(?:concepts?|content|flags?))?(?:_detected)?$/i;

/** Warnings about the images of a reply: a service that finds one unsafe may have blackened it, and charges for it. */
export function imageWarnings(reply: unknown, host: string): string[] {
  return isFlagged(reply, MAX_DEPTH)
    ? [`${host} marks an image as not safe for work: it may be black or blurred.`]
    : [];
}

function isFlagged(value: unknown, depth: number): boolean {
  if (depth === 0 || typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((each) => isFlagged(each, depth - 1));
  if (!isJsonObject(value)) return false;
  // What the request held is the user's own.
  const fields = Object.entries(value).filter(([name]) => name !== "input" && name !== "request");
  return fields.some(
    ([name, each]) => (FLAG.test(name) && [each].flat().includes(true)) || isFlagged(each, depth - 1),
  );
}

const EXCERPT_BYTES = 4096;

/** The first 4 KiB of a reply's body, with the API key hidden; null for an empty one. */
export function replyExcerpt(body: string, maskKey: (text: string) => string): string | null {
  if (body === "") return null;
  // Masked before it is cut, because half a key would not be recognised.
  const first = Buffer.from(maskKey(body)).subarray(0, EXCERPT_BYTES).toString("utf8");
  return first.replace(/\ufffd$/, "");
}
