import { isJsonObject, jsonOrNull } from "../lib/json.ts";
import type { ReplyHeaders } from "./transport.ts";

/** A reply to a failed request. `body` is absent if only the headers were read. */
interface TimedReply {
  headers: ReplyHeaders;
  body?: string | Buffer;
}

/** Number of searched characters of a body, enough for every error message. */
const MAX_BODY_LENGTH = 256 * 1024;
const MAX_DEPTH = 8;

/**
 * Returns the longest wait in a failed reply, or null, because an earlier request would be refused again. A wait can be
 * in `Retry-After` (seconds or a date), `retry-after-ms`, a field such as `{"retry_after": 20}`, Google's `RetryInfo`,
 * or text such as "try again in 20s".
 */
export function statedWaitMs({ headers, body = "" }: TimedReply, nowMs: number): number | null {
  const text = String(body).slice(0, MAX_BODY_LENGTH);
  const inBody = [...fieldWaits(jsonOrNull(text), MAX_DEPTH), textWait(text)];
  const waits = [headerWait(headers, nowMs), ...inBody].filter((ms) => ms !== null);
  return waits.length === 0 ? null : Math.max(...waits);
}

function headerWait(headers: ReplyHeaders, nowMs: number): number | null {
  // `retry-after-ms` takes precedence, because `Retry-After` is rounded to seconds.
  const exact = firstValue(headers["retry-after-ms"]);
  if (exact !== null && DECIMAL.test(exact)) return finite(Number(exact));
  const text = firstValue(headers["retry-after"]);
  if (text === null) return null;
  return DECIMAL.test(text) ? finite(Number(text) * 1000) : dateWait(text, nowMs);
}

const DECIMAL = /^\d+(?:\.\d+)?$/;

function firstValue(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header)?.trim() || null;
}

function dateWait(text: string, nowMs: number): number | null {
  // An HTTP date must begin with a weekday, because `Date.parse` accepts almost any text, such as "-1".
  if (!/^[a-z]{3,9},? /i.test(text)) return null;
  const date = Date.parse(text);
  return Number.isNaN(date) || date < nowMs ? null : date - nowMs;
}

/** Field names in lower case without separators, and the unit of a number in the field, in milliseconds. */
const FIELDS: ReadonlyMap<string, number> = new Map([
  ["retryafter", 1000],
  ["retryafterseconds", 1000],
  ["retryafterms", 1],
  ["retrydelay", 1000],
]);

function fieldWaits(value: unknown, depth: number): number[] {
  if (depth === 0) return [];
  if (Array.isArray(value)) return value.flatMap((each) => fieldWaits(each, depth - 1));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const unitMs = FIELDS.get(name.toLowerCase().replace(/[_-]/g, ""));
    const ms = unitMs === undefined ? null : fieldWait(field, unitMs);
    return ms === null ? fieldWaits(field, depth - 1) : [ms];
  });
}

function fieldWait(field: unknown, unitMs: number): number | null {
  if (typeof field === "number" && field >= 0) return finite(field * unitMs);
  if (typeof field !== "string") return null;
  return DECIMAL.test(field.trim()) ? finite(Number(field) * unitMs) : durationMs(field);
}

/** Units by their first letters. `ms` is before `m`, because the first match is used. */
const UNITS_MS: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|milli)/i, 1],
  [/^s/i, 1000],
  [/^m/i, 60_000],
  [/^h/i, 3_600_000],
  [/^d/i, 86_400_000],
];
const UNIT = "(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)";
const PART = `\\d+(?:\\.\\d+)?\\s?${UNIT}(?![a-z])|\\d+(?:\\.\\d+)?${UNIT}(?=\\d)`;
const DURATION = `(?:(?:${PART})(?:,? (?:and )?)?){1,4}`;
/** Matches "Try again in 20s", "retry after 26 seconds", "resets in ~9s", "wait 1m30s". */
const WAIT_TEXT = new RegExp(
  `\\b(?:try(?:ing)? again|retry(?:ing)?|resets?|wait)(?: in| after| for| at least| about| another)* ~?(${DURATION})`,
  "i",
);

function textWait(text: string): number | null {
  const duration = WAIT_TEXT.exec(text)?.[1];
  return duration === undefined ? null : durationMs(duration);
}

/** Parses a duration such as `1m30s`; null for any other text. */
function durationMs(text: string): number | null {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s?([a-z]+)/gi)];
  const each = parts.map(([, amount, unit = ""]) => {
    const unitMs = UNITS_MS.find(([pattern]) => pattern.test(unit))?.[1];
    return unitMs === undefined ? Number.NaN : Number(amount) * unitMs;
  });
  const sum = each.reduce((total, ms) => total + ms, 0);
  return each.length === 0 ? null : finite(sum);
}

function finite(ms: number): number | null {
  return Number.isFinite(ms) ? Math.ceil(ms) : null;
}
