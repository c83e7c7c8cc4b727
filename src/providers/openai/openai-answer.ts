import { inspectBytes } from "../../lib/image/inspect.ts";
import { fieldsOf, isJsonObject } from "../../lib/json.ts";
import { base64Image, imagesElsewhere, type ReplyImage } from "../found-images.ts";
import type { Job } from "../provider.ts";
import { jsonIn, lenientJson } from "../reply-json.ts";
import { imagesOrNone, type ReadReply } from "../service.ts";
import type { StoredReply } from "../stored-reply.ts";

/**
 * Reads a successful reply in any of the forms that OpenAI-compatible servers use: JSON with `b64_json` or a URL, a stream
 * of events, or the image itself. A reply that was cut short counts where its JSON is whole.
 */
export function readReply(reply: StoredReply, job: Job): ReadReply | null {
  const { headers, body, cut } = reply;
  const type = String(headers["content-type"] ?? "");
  if ((cut === null && type.startsWith("image/") && body.length > 0) || inspectBytes(body).ok)
    return imagesOrNone([{ bytes: body }], null, "");
  const text = body.toString("utf8");
  if (isEventStream(type, text)) {
    const last = finalEvents(text);
    return last === null ? null : answerIn(last, JSON.stringify(last[0]), job);
  }
  const json = jsonIn(reply);
  return json === undefined ? null : answerIn([fieldsOf(json)], text, job);
}

/** The images of all parts of a reply: several if the user's own field `n` asks for them. */
function answerIn(parts: readonly Record<string, unknown>[], body: string, job: Job): ReadReply {
  const allowed = parts.filter(({ respect_moderation: isAllowed }) => isAllowed !== false);
  const items = allowed.flatMap((part) => [part.data ?? part].flat()).filter(isJsonObject);
  const usage = parts.find((part) => isJsonObject(part.usage))?.usage;
  const usual = items.flatMap(imageIn);
  const images = usual.length > 0 ? usual : allowed.flatMap((part) => imagesElsewhere(part, job));
  return imagesOrNone(images, usage, body);
}

/** The image of an item, in a list; an empty one if there is none. */
function imageIn({ b64_json: base64, url, respect_moderation }: Record<string, unknown>): ReplyImage[] {
  if (respect_moderation === false) return [];
  const isAddress = typeof url === "string" && url.trim() !== "" && !url.startsWith("data:");
  const bytes = base64Image(base64) ?? (isAddress ? null : base64Image(url));
  if (bytes !== null) return [{ bytes }];
  return isAddress ? [{ url }] : [];
}

/** Whether a body is a stream of events, by its Content-Type or by how it begins. */
function isEventStream(type: string, body: string): boolean {
  return /^text\/event-stream/i.test(type) || /^\s*(?:event|data):/.test(body);
}

/**
 * The last events of a stream of image events: an image (`image_generation.completed`,
 * `image_edit.completed`), an error, or a whole answer as some gateways send it. Null if none has come: the stream was
 * cut.
 */
function finalEvents(stream: string): Record<string, unknown>[] | null {
  const events = stream.split(/\r?\n\r?\n/).map((event) => fieldsOf(lenientJson(dataOf(event))));
  const last = events.filter(isLast);
  return last.length === 0 ? null : last;
}

function dataOf(event: string): string {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice("data:".length).replace(/^ /, "")).join("\n");
}

function isLast({ type, data, error }: Record<string, unknown>): boolean {
  if (typeof type === "string" && /\.completed$|^error$/.test(type)) return true;
  return Array.isArray(data) || (error !== undefined && error !== null);
}
