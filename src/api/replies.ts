import type { ImggenError } from "../lib/errors.ts";
import { maskKey } from "../lib/redact.ts";
import type { ReplyHeaders, TransportError } from "./exchange.ts";
import { pollRefusal, refusal } from "./refusal.ts";
import { parseRetryAfter } from "./retry.ts";
import { type Envelope, parseEnvelope, parseTaskId, parseTaskState, type TaskState } from "./schema.ts";

/** A reply as it came, whole. */
export interface Reply {
  status: number;
  headers: ReplyHeaders;
  body: string;
}

/** What is known where a reply is read. */
export interface Reading {
  /** Not to be shown, wherever a service repeats it. */
  apiKey: string;
  nowMs: number;
}

/** How one submit ended. Only `accepted` and `unknown` can have cost anything. */
export type SubmitReply =
  | { outcome: "accepted"; taskId: string }
  | { outcome: "refused"; error: ImggenError }
  | { outcome: "rate_limited"; retryAfterMs: number | null; error: ImggenError }
  | { outcome: "not_sent"; cause: TransportError }
  | { outcome: "unknown"; why: string; cause?: unknown };

/** What one look at a task gave. */
export type PollReply =
  | { outcome: "state"; task: TaskState }
  | { outcome: "refused"; error: ImggenError }
  | {
      outcome: "retry";
      why: string;
      rateLimited: boolean;
      retryAfterMs: number | null;
      /** What broke the exchange, where there was no answer at all. */
      trouble: TransportError | null;
    };

/** Statuses that are a definite no to a submit, envelope or not (nothing was charged). */
const DEFINITE_NO = new Set([400, 401, 403, 404, 413, 422]);

/** What a submit's reply means (section 4.1). Only what makes sense is believed; the rest may have been charged. */
export function readSubmit({ status, headers, body }: Reply, reading: Reading): SubmitReply {
  const envelope = readEnvelope(body, reading);
  const key = envelope.kind === "error" ? envelope.key : null;
  if (status === 429) {
    const retryAfterMs = parseRetryAfter(headers["retry-after"], reading.nowMs);
    return { outcome: "rate_limited", retryAfterMs, error: refusal(key, status, "no") };
  }
  if (DEFINITE_NO.has(status)) return { outcome: "refused", error: refusal(key, status, "no") };
  if (status < 200 || status === 408 || status >= 500 || (status >= 300 && status < 400)) {
    return { outcome: "unknown", why: `the service answered HTTP ${status}` };
  }
  if (envelope.kind === "error") return { outcome: "refused", error: refusal(key, status, "no") };
  if (envelope.kind === "nonsense")
    return { outcome: "unknown", why: `the service answered ${envelope.why}` };
  const taskId = status < 300 ? parseTaskId(envelope.data) : null;
  if (taskId === null) return { outcome: "unknown", why: "the reply holds no usable task id" };
  return { outcome: "accepted", taskId };
}

/** What the reply to a look means (section 4.2). */
export function readPoll({ status, headers, body }: Reply, reading: Reading): PollReply {
  const retry = (why: string): PollReply => ({
    outcome: "retry",
    why,
    rateLimited: status === 429,
    retryAfterMs: parseRetryAfter(headers["retry-after"], reading.nowMs),
    trouble: null,
  });
  if (status === 408 || status === 425 || status === 429 || status >= 500) return retry(`HTTP ${status}`);
  const envelope = readEnvelope(body, reading);
  const key = envelope.kind === "error" ? envelope.key : null;
  if (key !== null || status === 401 || status === 403) {
    return { outcome: "refused", error: pollRefusal(key, status) };
  }
  if (status < 200 || status >= 300) return retry(`HTTP ${status}`);
  const task = envelope.kind === "success" ? parseTaskState(envelope.data) : null;
  if (task === null)
    return retry(envelope.kind === "nonsense" ? envelope.why : "a reply without a task in it");
  return { outcome: "state", task };
}

/** An error key is shown to people; where a service repeats the API key in it, that part is not. */
function readEnvelope(body: string, { apiKey }: Reading): Envelope {
  const envelope = parseEnvelope(body);
  if (envelope.kind !== "error") return envelope;
  return { kind: "error", key: envelope.key.replaceAll(apiKey, maskKey(apiKey)) };
}
