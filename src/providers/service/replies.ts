import { refusedPoll, refusedSubmit } from "../../api/api-errors.ts";
import { connectionErrorText } from "../../api/connection-errors.ts";
import type { HttpReply } from "../../api/http-client.ts";
import { isRetryable } from "../../api/retry.ts";
import { statedWaitMs } from "../../api/stated-wait.ts";
import type { TransportError } from "../../api/transport.ts";
import { KEY_MASK } from "../../lib/redact.ts";
import { failedPoll } from "../failures.ts";
import type { PollReply, SubmitReply } from "../provider.ts";
import { excerptOf } from "./excerpt.ts";
import { parseEnvelope, parsePolledState, parseTaskId } from "./schema.ts";

/** What reading a reply needs. */
export interface ReplyContext {
  /** Masks the API key if the service repeats it, in every text of a reply. */
  maskKey: (text: string) => string;
  nowMs: number;
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
  const envelope = parseEnvelope(body, reading.maskKey);
  if (cut && envelope.kind === "invalid") return unknown(reading.maskKey(connectionErrorText(cut)));
  const key = envelope.kind === "error" ? envelope.key : null;
  if (status === 429) {
    const retryAfterMs = statedWaitMs({ headers, body }, reading.nowMs);
    return { outcome: "rate_limited", retryAfterMs, error: refusedSubmit(key, status, "no") };
  }
  if (DEFINITE_NO.has(status)) return { outcome: "refused", error: refusedSubmit(key, status, "no") };
  if (status < 200 || status === 408 || status >= 500 || (status >= 300 && status < 400)) {
    return unknown(`the service answered HTTP ${status}`);
  }
  if (envelope.kind === "error") return { outcome: "refused", error: refusedSubmit(key, status, "no") };
  if (envelope.kind === "invalid") return unknown(`the service answered ${envelope.why}`);
  const taskId = status < 300 ? parseTaskId(envelope.data) : null;
  // An id that contains the key could not be stored, and with the key masked it could not be polled.
  if (taskId === null || taskId.includes(KEY_MASK)) return unknown("the reply holds no usable task id");
  return { outcome: "accepted", taskId };
}

/** Interprets the reply to a poll (section 4.2). */
export function readPoll({ status, headers, body, cut }: HttpReply, reading: ReplyContext): PollReply {
  const retryAfterMs = statedWaitMs({ headers, body }, reading.nowMs);
  const retry = (why: string, connectionError: TransportError | null = null) =>
    failedPoll(why, { rateLimited: status === 429, retryAfterMs, connectionError });
  if (isRetryable(status)) return retry(`HTTP ${status}`);
  const envelope = parseEnvelope(body, reading.maskKey);
  if (cut && envelope.kind === "invalid") return retry(reading.maskKey(connectionErrorText(cut)), cut);
  const key = envelope.kind === "error" ? envelope.key : null;
  if (key !== null || status === 401 || status === 403) {
    return { outcome: "refused", error: refusedPoll(key, status) };
  }
  if (status < 200 || status >= 300) return retry(`HTTP ${status}`);
  const task = envelope.kind === "success" ? parsePolledState(envelope.data) : null;
  if (task === null)
    return retry(envelope.kind === "invalid" ? envelope.why : "a reply without a task in it");
  return { outcome: "state", task };
}
