import type { TransportError } from "../../api/transport.ts";
import { jsonOrNull } from "../../lib/json.ts";
import { KEY_MASK } from "../../lib/redact.ts";
import { isTaskId } from "./schema.ts";

const EXCERPT_BYTES = 4096;
const END_OF_HEAD = "\r\n\r\n";

/** The first 4 KiB of a reply's body, with the API key hidden; null for an empty one. */
export function excerptOf(body: string, maskKey: (text: string) => string): string | null {
  if (body === "") return null;
  // Masked before it is cut, because half a key would not be recognised.
  const first = Buffer.from(maskKey(body)).subarray(0, EXCERPT_BYTES).toString("utf8");
  return first.replace(/\ufffd$/, "");
}

/**
 * The body of a reply that the HTTP parser refused, such as one with two Content-Length headers: its first packet without
 * the head. "" if nothing arrived.
 */
export function refusedBody({ cause }: TransportError): string {
  // Node's parser adds it to its error.
  const text = cause instanceof Error && "rawPacket" in cause ? String(cause.rawPacket) : "";
  const end = text.indexOf(END_OF_HEAD);
  if (end !== -1) return text.slice(end + END_OF_HEAD.length);
  return text.startsWith("HTTP/") ? "" : text;
}

/** The first usable task id in an excerpt, however broken the rest is; null if there is none. */
export function taskIdIn(excerpt: string | null | undefined): string | null {
  for (const [, value = ""] of (excerpt ?? "").matchAll(/"task_?id"\s*:\s*("(?:[^"\\]|\\.)*"|\d+)/gi)) {
    const id = value.startsWith('"') ? jsonOrNull(value) : value;
    if (isTaskId(id) && !id.includes(KEY_MASK)) return id;
  }
  return null;
}
