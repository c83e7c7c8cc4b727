import { inspectBytes } from "../../lib/image/inspect.ts";
import { fieldsOf, isJsonObject } from "../../lib/json.ts";
import { type Answer, base64Image } from "../answer.ts";
import { lenientJson } from "../lenient-json.ts";
import { jsonIn, type StoredReply } from "../reply-file.ts";

/**
 * Reads a successful reply in any of the forms that OpenAI-compatible servers use: JSON with `b64_json` or a URL, a stream
 * of events, or the image itself. A reply that was cut short counts where its JSON is whole.
 */
export function readAnswer(reply: StoredReply): Answer {
  const { headers, body, cut } = reply;
  const type = String(headers["content-type"] ?? "");
  if ((cut === null && type.startsWith("image/") && body.length > 0) || inspectBytes(body).ok)
    return { kind: "bytes", bytes: body, usage: null };
  const text = body.toString("utf8");
  if (isEventStream(type, text)) {
    const last = finalEvent(text);
    return last === null ? { kind: "cut" } : answerIn(fieldsOf(lenientJson(last)), last);
  }
  const json = jsonIn(reply);
  return json === undefined ? { kind: "cut" } : answerIn(fieldsOf(json), text);
}

/** The first image; of several, as `n` in a field of the user's may ask for, the others are not used. */
function answerIn(json: Record<string, unknown>, body: string): Answer {
  const { usage } = json;
  const items = [json.data ?? json].flat().filter(isJsonObject);
  for (const { b64_json: base64, url, respect_moderation } of items) {
    if (respect_moderation === false || json.respect_moderation === false) continue;
    const isAddress = typeof url === "string" && url.trim() !== "" && !url.startsWith("data:");
    const bytes = base64Image(base64) ?? (isAddress ? null : base64Image(url));
    if (bytes !== null) return { kind: "bytes", bytes, usage };
    if (isAddress) return { kind: "url", url, usage };
  }
  return { kind: "none", body };
}

/** Whether a body is a stream of events, by its Content-Type or by how it begins. */
function isEventStream(type: string, body: string): boolean {
  return /^text\/event-stream/i.test(type) || /^\s*(?:event|data):/.test(body);
}

/**
 * The data of the event that ends a stream of image events: the image (`image_generation.completed`,
 * `image_edit.completed`), an error, or a whole answer as some gateways send it. Null if none has come: the stream was
 * cut.
 */
function finalEvent(stream: string): string | null {
  const events = stream.split(/\r?\n\r?\n/).map(dataOf);
  return events.find((data) => isLast(fieldsOf(lenientJson(data)))) ?? null;
}

function dataOf(event: string): string {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice("data:".length).replace(/^ /, "")).join("\n");
}

function isLast({ type, data, error }: Record<string, unknown>): boolean {
  if (typeof type === "string" && /\.completed$|^error$/.test(type)) return true;
  return Array.isArray(data) || (error !== undefined && error !== null);
}
