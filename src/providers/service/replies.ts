import type { ImggenError } from "../../lib/error-types.ts";
import { KEY_MASK } from "../../lib/redact.ts";
import type { HttpReply } from "../../api/client.ts";
import { connectionErrorText } from "../../api/connection-errors.ts";
import { pausedQueue, refusedPoll, refusedSubmit } from "../../api/errors.ts";
import { excerptOf } from "./excerpt.ts";
import { isPassing, parseRetryAfter } from "../../api/retry.ts";
import { type Envelope, type PolledState, parseEnvelope, parsePolledState, parseTaskId } from "./schema.ts";
import type { TransportError } from "../../api/transport.ts";

/** What reading a reply needs. */
export interface ReplyContext {
  /** Masks the API key if the service repeats it, in every text of a reply. */
  maskKey: (text: string) => string;
  nowMs: number;
  /** Whether the embedded service before the user's own generator answers, which says more than the document. */
  ofGenerator?: boolean;
}

/** How one submit ended. Only `accepted` and `unknown` may have been charged. */
export type SubmitReply =
  | { outcome: "accepted"; taskId: string }
  | { outcome: "refused"; error: ImggenError }
  | { outcome: "rate_limited"; retryAfterMs: number | null; error: ImggenError }
  | { outcome: "not_sent"; cause: TransportError }
  | {
      outcome: "unknown";
      why: string;
      /** The beginning of the invalid reply; null if there was none. */
      excerpt: string | null;
      cause?: unknown;
    };

/** The result of one poll. */
export type PollReply =
  | { outcome: "state"; task: PolledState }
  | { outcome: "refused"; error: ImggenError }
  | FailedPoll;

/** A poll without a usable answer, which may be sent again. */
export interface FailedPoll {
  outcome: "retry";
  why: string;
  rateLimited: boolean;
  retryAfterMs: number | null;
  /** The network error, if there was no answer at all. */
  connectionError: TransportError | null;
}

/** Statuses that refuse a submit for certain, with or without an envelope (nothing was charged). */
const DEFINITE_NO = new Set([400, 401, 403, 404, 413, 422]);

/**
 * Interprets a submit's reply (section 4.1). After an invalid reply the request may have been charged. A truncated reply
 * counts if its envelope is complete.
 */
export function readSubmit(reply: HttpReply, reading: ReplyContext): SubmitReply {
  const { status, headers, body, cut } = reply;
  const unknown = (why: string): SubmitReply => ({
    outcome: "unknown",
    why,
    excerpt: excerptOf(body, reading.maskKey),
    ...(cut && { cause: cut }),
  });
  const envelope = readEnvelope(body, reading);
  if (cut && envelope.kind === "invalid") return unknown(reading.maskKey(connectionErrorText(cut)));
  const key = envelope.kind === "error" ? envelope.key : null;
  if (status === 429) {
    const retryAfterMs = parseRetryAfter(headers["retry-after"], reading.nowMs);
    return { outcome: "rate_limited", retryAfterMs, error: refusedSubmit(key, status, "no") };
  }
  const detail = envelope.kind === "error" ? envelope.detail : undefined;
  if (DEFINITE_NO.has(status)) return { outcome: "refused", error: refusedSubmit(key, status, "no", detail) };
  if (status < 200 || status === 408 || status >= 500 || (status >= 300 && status < 400)) {
    return unknown(`the service answered HTTP ${status}`);
  }
  if (envelope.kind === "error")
    return { outcome: "refused", error: refusedSubmit(key, status, "no", detail) };
  if (envelope.kind === "invalid") return unknown(`the service answered ${envelope.why}`);
  const taskId = status < 300 ? parseTaskId(envelope.data) : null;
  // An id that contains the key could not be stored, and with the key masked it could not be polled.
  if (taskId === null || taskId.includes(KEY_MASK)) return unknown("the reply holds no usable task id");
  return { outcome: "accepted", taskId };
}

/** Interprets the reply to a poll (section 4.2). */
export function readPoll({ status, headers, body, cut }: HttpReply, reading: ReplyContext): PollReply {
  const retry = (why: string, connectionError: TransportError | null = null): PollReply => ({
    outcome: "retry",
    why,
    rateLimited: status === 429,
    retryAfterMs: parseRetryAfter(headers["retry-after"], reading.nowMs),
    connectionError,
  });
  if (isPassing(status)) return retry(`HTTP ${status}`);
  const envelope = readEnvelope(body, reading);
  if (cut && envelope.kind === "invalid") return retry(reading.maskKey(connectionErrorText(cut)), cut);
  const key = envelope.kind === "error" ? envelope.key : null;
  if (envelope.kind === "error" && envelope.detail !== undefined)
    return { outcome: "refused", error: pausedQueue(envelope.key, envelope.detail, envelope.sent) };
  if (key !== null || status === 401 || status === 403) {
    return { outcome: "refused", error: refusedPoll(key, status) };
  }
  if (status < 200 || status >= 300) return retry(`HTTP ${status}`);
  const task = envelope.kind === "success" ? parsePolledState(envelope.data, reading.ofGenerator) : null;
  if (task === null)
    return retry(envelope.kind === "invalid" ? envelope.why : "a reply without a task in it");
  return { outcome: "state", task };
}

/** What only the embedded service says beside the document is not read from any other. */
function readEnvelope(body: string, { maskKey, ofGenerator = false }: ReplyContext): Envelope {
  const envelope = parseEnvelope(body, maskKey);
  return envelope.kind === "error" && !ofGenerator ? { kind: "error", key: envelope.key } : envelope;
}
