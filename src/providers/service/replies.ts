import { refusedPoll, refusedSubmit } from "../../api/api-errors.ts";
import { connectionErrorText } from "../../api/connection-errors.ts";
import type { HttpReply } from "../../api/http-client.ts";
import { isRetryable } from "../../api/retry.ts";
import { statedWaitMs } from "../../api/stated-wait.ts";
import type { TransportError } from "../../api/transport.ts";
import { fieldsOf, isJsonObject, jsonOrNull } from "../../lib/json.ts";
import { hasControlCharacter } from "../../lib/late-regex.ts";
import { KEY_MASK } from "../../lib/redact.ts";
import { collapseWhitespace, toSentence, truncate } from "../../lib/short-text.ts";
import { failedPoll } from "../failures.ts";
import type { PolledState, PollReply, SubmitReply } from "../provider.ts";
import { replyExcerpt } from "../reply-facts.ts";

// Unknown fields of the service's replies are ignored, but known fields must be valid. No validation library is used,
// because loading one would delay every start.

export interface ReplyContext {
  /** Masks the API key in every text of a reply, because the service might repeat the key. */
  maskKey: (text: string) => string;
  nowMs: number;
  /** Whether the server is `imggen serve`, which reports the reason for a failed task. */
  isServer?: boolean;
}

/** HTTP statuses that mean that a submit was certainly refused and not charged, even if the reply has no envelope. */
const REFUSAL_STATUSES = new Set([400, 401, 403, 404, 413, 422]);

/**
 * Interprets the reply to a submit (section 4.1). An incomplete reply is valid if its envelope is complete.
 * After an invalid reply the outcome is unknown, because the request might have been charged.
 */
export function readSubmit(reply: HttpReply, context: ReplyContext): SubmitReply {
  const { status, headers, body, cut } = reply;
  const unknown = (why: string): SubmitReply => ({
    outcome: "unknown",
    why,
    excerpt: replyExcerpt(body, context.maskKey),
    ...(cut && { cause: cut }),
  });
  const envelope = parseEnvelope(body, context.maskKey);
  if (cut && envelope.kind === "invalid") return unknown(context.maskKey(connectionErrorText(cut)));
  const { key = null, detail } = envelope.kind === "error" ? envelope : {};
  const refused = () => refusedSubmit(key, status, "no", detail);
  if (status === 429) {
    const retryAfterMs = statedWaitMs({ headers, body }, context.nowMs);
    return { outcome: "rate_limited", retryAfterMs, error: refused() };
  }
  if (REFUSAL_STATUSES.has(status)) return { outcome: "refused", error: refused() };
  if (status < 200 || status === 408 || status >= 500 || (status >= 300 && status < 400)) {
    return unknown(`the service answered with HTTP ${status}`);
  }
  if (envelope.kind === "error") return { outcome: "refused", error: refused() };
  if (envelope.kind === "invalid") return unknown(`the service answered with ${envelope.why}`);
  const taskId = status < 300 ? parseTaskId(envelope.data) : null;
  // An id that contains the key is unusable: imggen must not store the key, and cannot poll with a masked id.
  if (taskId === null || taskId.includes(KEY_MASK)) return unknown("the reply contains no usable task id");
  return { outcome: "accepted", taskId };
}

/** Interprets the reply to a poll (section 4.2). */
export function readPoll({ status, headers, body, cut }: HttpReply, context: ReplyContext): PollReply {
  const facts = {
    rateLimited: status === 429,
    retryAfterMs: statedWaitMs({ headers, body }, context.nowMs),
    ...((status === 404 || status === 410) && { isMissing: true as const }),
  };
  const retry = (why: string, connectionError: TransportError | null = null) =>
    failedPoll(why, { ...facts, connectionError });
  if (isRetryable(status)) return retry(`HTTP ${status}`);
  const envelope = parseEnvelope(body, context.maskKey);
  if (cut && envelope.kind === "invalid") return retry(context.maskKey(connectionErrorText(cut)), cut);
  const { key = null, detail } = envelope.kind === "error" ? envelope : {};
  if (key !== null || status === 401 || status === 403) {
    return { outcome: "refused", error: refusedPoll(key, status, detail) };
  }
  if (status < 200 || status >= 300) return retry(`HTTP ${status}`);
  const task = envelope.kind === "success" ? parsePolledState(envelope.data, context.isServer) : null;
  if (task === null)
    return retry(envelope.kind === "invalid" ? envelope.why : "a reply without a task in it");
  return { outcome: "state", task };
}

/** Form that every reply of the service has (section 2.1). */
export type Envelope =
  | { kind: "success"; data: unknown }
  /** `detail`: message for users from `imggen serve`. The service's document does not describe this field. */
  | { kind: "error"; key: string; detail?: string }
  /** Text without an envelope, or an envelope that the service's document does not describe. */
  | { kind: "invalid"; why: string };

/** The `code` 0 means success. A negative `code` means an error, whose key is in `message`. */
export function parseEnvelope(body: string, maskKey = (text: string) => text): Envelope {
  let json: unknown;
  try {
    // Some servers begin JSON with a byte-order mark, which `JSON.parse` refuses.
    json = JSON.parse(body.replace(/^\uFEFF/, ""), (_name, value) =>
      typeof value === "string" ? maskKey(value) : value,
    );
  } catch {
    return { kind: "invalid", why: body.trim() === "" ? "an empty reply" : describeText(body) };
  }
  const { code: rawCode, message, data, detail } = fieldsOf(json);
  const code = parseCode(rawCode);
  if (code === null) return { kind: "invalid", why: "JSON that is not in the service's format" };
  if (code < 0) {
    const key = typeof message === "string" ? message : `code ${code}`;
    return { kind: "error", key, ...detailIn({ detail }) };
  }
  if (code > 0) return { kind: "invalid", why: `a reply with the unknown code ${code}` };
  return { kind: "success", data };
}

const MAX_DETAIL = 500;

function detailIn({ detail }: { detail?: unknown }): { detail?: string } {
  if (typeof detail !== "string" || detail.trim() === "") return {};
  return { detail: truncate(collapseWhitespace(detail), MAX_DETAIL) };
}

/** Parses a code, which some servers send as text. */
function parseCode(value: unknown): number | null {
  // `JSON.parse` returns Infinity for numbers that are too large.
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return typeof value === "string" && /^-?\d{1,9}$/.test(value) ? Number(value) : null;
}

function describeText(body: string): string {
  return isPage(body) ? HTML_PAGE : "text that is not JSON";
}

export function isPage(body: string): boolean {
  return /^\s*</.test(body);
}

export const HTML_PAGE = "an HTML page";

const MAX_TASK_ID_LENGTH = 256;

/** Whether a value is a task id that is safe to store, print and send: short, printable and without `../`. */
export function isTaskId(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.trim() !== "" &&
    value.length <= MAX_TASK_ID_LENGTH &&
    value.isWellFormed() &&
    !hasControlCharacter(value) &&
    !/\.\.[/\\]/.test(value)
  );
}

export function parseTaskId(data: unknown): string | null {
  const taskId = fieldsOf(data).taskId;
  return isTaskId(taskId) ? taskId : null;
}

/** Parses the task record (section 2.3). A task with an unknown status is running (section 3). */
export function parsePolledState(data: unknown, isServer = false): PolledState | null {
  if (!isJsonObject(data)) return null;
  const { status, resultUrl } = data;
  const errorCode = failureCode(data.errorCode);
  const urls = [resultUrl]
    .flat()
    .filter((url): url is string => typeof url === "string" && url.trim() !== "");
  if (status === "completed" && urls.length > 0) return { status: "completed", urls };
  if (status === "failed" || errorCode !== null) {
    const { detail } = isServer ? detailIn(data) : {};
    return { status: "failed", errorCode, ...(detail !== undefined && { why: toSentence(detail) }) };
  }
  const { progress: share } = data;
  const isShare = isServer && typeof share === "number" && share >= 0 && share <= 1;
  return {
    status: "running",
    providerState: typeof status === "string" ? status : null,
    ...(isShare && { share }),
  };
}

/** Returns the error code, or null for zero in any form, because zero means that there is no error. */
function failureCode(value: unknown): string | null {
  if (!Number.isFinite(value) && typeof value !== "string") return null;
  if (typeof value === "string" && value.trim() === "") return null;
  return Number(value) === 0 ? null : String(value);
}

const END_OF_HEAD = "\r\n\r\n";

/** Returns the body of a reply that the HTTP parser refused, for example because of two Content-Length headers. */
export function refusedBody({ cause }: TransportError): string {
  // Node's HTTP parser attaches the first packet to its error. Later packets are not available.
  const text = cause instanceof Error && "rawPacket" in cause ? String(cause.rawPacket) : "";
  const end = text.indexOf(END_OF_HEAD);
  if (end !== -1) return text.slice(end + END_OF_HEAD.length);
  return text.startsWith("HTTP/") ? "" : text;
}

/** Returns the first usable task id in an excerpt, even if the JSON is damaged, or null if there is no id. */
export function taskIdIn(excerpt: string | null | undefined): string | null {
  for (const [, value = ""] of (excerpt ?? "").matchAll(/"task_?id"\s*:\s*("(?:[^"\\]|\\.)*"|\d+)/gi)) {
    const id = value.startsWith('"') ? jsonOrNull(value) : value;
    if (isTaskId(id) && !id.includes(KEY_MASK)) return id;
  }
  return null;
}
