import { inspectBytes } from "../../lib/image/inspect.ts";
import { fieldsOf, isJsonObject, jsonOrNull } from "../../lib/json.ts";
import type { Usage } from "../../task/lifecycle.ts";
import { jsonIn, type StoredReply } from "../reply-file.ts";

/** What a successful reply holds. */
export type Answer =
  | { kind: "bytes"; bytes: Buffer; usage: Usage | null }
  /** Absolute, or relative to the server. */
  | { kind: "url"; url: string; usage: Usage | null }
  /** The server has answered, without an image. `body`: where its words may be. */
  | { kind: "none"; body: string }
  /** The reply ended before its image was whole. */
  | { kind: "cut" };

/**
 * Reads a successful reply in any of the forms that OpenAI-compatible servers use: JSON with `b64_json` or a URL, a stream
 * of events, or the image itself. A reply that was cut short counts where its JSON is whole.
 */
export function readAnswer(reply: StoredReply): Answer {
  const { headers, body, cut } = reply;
  const type = String(headers["content-type"] ?? "");
  if ((cut === null && type.startsWith("image/")) || inspectBytes(body).ok)
    return { kind: "bytes", bytes: body, usage: null };
  const text = body.toString("utf8");
  if (isEventStream(type, text)) {
    const last = finalEvent(text);
    return last === null ? { kind: "cut" } : answerIn(last, JSON.stringify(last));
  }
  const json = jsonIn(reply);
  return json === undefined ? { kind: "cut" } : answerIn(fieldsOf(json), text);
}

/** The first image; of several, as `n` in a field of the user's may ask for, the others are not used. */
function answerIn(json: Record<string, unknown>, body: string): Answer {
  const usage = isJsonObject(json.usage) ? json.usage : null;
  const items = [json.data ?? json].flat().filter(isJsonObject);
  for (const { b64_json: base64, url, respect_moderation } of items) {
    if (respect_moderation === false || json.respect_moderation === false) continue;
    if (isText(base64)) return imageIn(base64, usage);
    if (isText(url)) return url.startsWith("data:") ? imageIn(url, usage) : { kind: "url", url, usage };
  }
  return { kind: "none", body };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

/** @param text base64, or a `data:` URL of it, which some servers send in the same field */
function imageIn(text: string, usage: Usage | null): Answer {
  const base64 = text.replace(/^data:[^,]*,/, "");
  return { kind: "bytes", bytes: Buffer.from(base64, "base64"), usage };
}

/** Whether a body is a stream of events, by its Content-Type or by how it begins. */
function isEventStream(type: string, body: string): boolean {
  return /^text\/event-stream/i.test(type) || /^\s*(?:event|data):/.test(body);
}

/**
 * The event that ends a stream of image events: the image (`image_generation.completed`, `image_edit.completed`), an
 * error, or a whole answer as some gateways send it. Null if none has come: the stream was cut.
 */
function finalEvent(stream: string): Record<string, unknown> | null {
  const events = stream.split(/\r?\n\r?\n/).map((event) => fieldsOf(jsonOrNull(dataOf(event))));
  return events.find(isLast) ?? null;
}

function dataOf(event: string): string {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice("data:".length).replace(/^ /, "")).join("\n");
}

function isLast({ type, data, error }: Record<string, unknown>): boolean {
  if (typeof type === "string" && /\.completed$|^error$/.test(type)) return true;
  return Array.isArray(data) || (error !== undefined && error !== null);
}
