import { KEY_MASK } from "../lib/redact.ts";
import { isTaskId } from "./schema.ts";

const EXCERPT_BYTES = 4096;

/** The first 4 KiB of a reply's body, with the API key hidden; null for an empty one. */
export function excerptOf(body: string, maskKey: (text: string) => string): string | null {
  if (body === "") return null;
  // Masked before it is cut, because half a key would not be recognised.
  const first = Buffer.from(maskKey(body)).subarray(0, EXCERPT_BYTES).toString("utf8");
  return first.replace(/\ufffd$/, "");
}

/** The first usable task id in an excerpt, however broken the rest is; null if there is none. */
export function taskIdIn(excerpt: string | null | undefined): string | null {
  for (const [, value = ""] of (excerpt ?? "").matchAll(/"task_?id"\s*:\s*("(?:[^"\\]|\\.)*"|\d+)/gi)) {
    const id = readId(value);
    if (isTaskId(id) && !id.includes(KEY_MASK)) return id;
  }
  return null;
}

function readId(value: string): unknown {
  if (!value.startsWith('"')) return value;
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}
