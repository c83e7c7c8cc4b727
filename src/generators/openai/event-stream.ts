import { fieldsOf, jsonOrNull } from "../../lib/json.ts";

/** Whether a body is a stream of events, by its Content-Type or by how it begins. */
export function isEventStream(type: string, body: string): boolean {
  return /^text\/event-stream/i.test(type) || /^\s*(?:event|data):/.test(body);
}

/**
 * The event that ends a stream of image events: the image (`image_generation.completed`, `image_edit.completed`), an
 * error, or a whole answer as some gateways send it. Null if none has come: the stream was cut.
 */
export function lastWord(stream: string): Record<string, unknown> | null {
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
