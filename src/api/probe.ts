import { keyMasker } from "../lib/redact.ts";
import type { HttpClient } from "./client.ts";
import { type Envelope, parseEnvelope } from "./schema.ts";
import { taskUrl } from "./service.ts";
import { wholeReply } from "./whole-reply.ts";

/** What a check of the key polls: no task has this id. */
export const NO_SUCH_TASK = "imggen-key-check";

export interface Probe {
  http: HttpClient;
  baseUrl: string;
  /** null asks without one, which the service refuses. */
  apiKey: string | null;
  timeoutMs: number;
  signal: AbortSignal;
}

/** What a service answers to a probe. */
export interface ProbeReply {
  status: number;
  envelope: Envelope;
  /** The service's clock in milliseconds since the epoch, to the second; null if it does not tell. */
  dateMs: number | null;
  elapsedMs: number;
}

/**
 * Polls a task that does not exist. That costs nothing: only a submit is charged (section 1), and a key that is missing
 * or invalid is answered with `login_required` (section 5).
 * @throws TransportError without a whole reply
 */
export async function probe({ http, baseUrl, apiKey, timeoutMs, signal }: Probe): Promise<ProbeReply> {
  const start = performance.now();
  const { status, headers, body, cut } = await wholeReply(http, {
    method: "GET",
    url: taskUrl(baseUrl, NO_SUCH_TASK),
    headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
    timeoutMs,
    signal,
  });
  const envelope = masked(parseEnvelope(body), apiKey ?? "");
  if (cut && envelope.kind === "nonsense") throw cut;
  const dateMs = Date.parse(String(headers.date));
  return {
    status,
    envelope,
    dateMs: Number.isNaN(dateMs) ? null : dateMs,
    elapsedMs: performance.now() - start,
  };
}

/** The service may repeat the key in its error. */
function masked(envelope: Envelope, apiKey: string): Envelope {
  return envelope.kind === "error" ? { kind: "error", key: keyMasker(apiKey)(envelope.key) } : envelope;
}
