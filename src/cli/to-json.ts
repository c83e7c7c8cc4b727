import { jsonSafe } from "../lib/escape.ts";

/** A value as one line of JSON that is harmless on a terminal and parses to the very same value. */
export function toJson(value: unknown): string {
  return jsonSafe(JSON.stringify(value));
}
