import { isJsonObject } from "../lib/json.ts";

/** Deeper levels are not read: a server may nest thousands. */
const MAX_DEPTH = 8;
/** `has_nsfw_concepts` of fal, `nsfw_content_detected` of diffusers, `nsfw` and `is_nsfw` of others. */
const FLAG = /^(?:has_|is_)?nsfw(?:_(?:concepts?|content|flags?))?(?:_detected)?$/i;

/** Warnings about the images of a reply: a service that finds one unsafe may have blackened it, and charges for it. */
export function warningsOn(said: unknown, host: string): string[] {
  return isFlagged(said, MAX_DEPTH)
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
