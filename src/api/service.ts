import type { Clock } from "../lib/clock.ts";
import type { ImggenError } from "../lib/errors.ts";
import { maskKey } from "../lib/redact.ts";
import type { GenerationRequest } from "../models/request.ts";
import type { HttpClient } from "./client.ts";
import type { HttpRequest, ReplyHeaders } from "./exchange.ts";
import { TransportError } from "./exchange.ts";
import { pollRefusal, refusal } from "./refusal.ts";
import { parseRetryAfter } from "./retry.ts";
import type { Envelope, TaskState } from "./schema.ts";
import { troubleText } from "./trouble.ts";

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

export interface ServiceOptions {
  http: HttpClient;
  clock: Pick<Clock, "now">;
  /** The service's base address with its `/api` prefix, without a slash at the end. */
  baseUrl: string;
  apiKey: string;
  /** Default 120 s: a short one would turn slow answers into unknown outcomes. */
  submitTimeoutMs?: number | undefined;
  /** Default 15 s. */
  pollTimeoutMs?: number | undefined;
}

type Readers = typeof import("./schema.ts");

/** What reads replies: not needed, so not loaded, before a request is on its way. */
const readers = (): Promise<Readers> => import("./schema.ts");

interface Reply {
  status: number;
  headers: ReplyHeaders;
  body: string;
}

const SUBMIT_TIMEOUT_MS = 120_000;
const POLL_TIMEOUT_MS = 15_000;
const LARGEST_REPLY_BYTES = 1024 * 1024;

/** Statuses that are a definite no to a submit, envelope or not (nothing was charged). */
const DEFINITE_NO = new Set([400, 401, 403, 404, 413, 422]);

/** The service's two operations (sections 4.1 and 4.2), one request each; retrying is the caller's. */
export interface ImageService {
  /** Submits a task: this is what costs credits. Never throws. */
  submit(request: GenerationRequest, signal: AbortSignal, onSent?: () => void): Promise<SubmitReply>;
  /** Looks at a task once, for at most `timeoutMs`. Costs nothing. Never throws. */
  poll(taskId: string, timeoutMs: number | undefined, signal: AbortSignal): Promise<PollReply>;
}

/** The service over HTTP. */
export class Service implements ImageService {
  readonly #options: ServiceOptions;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  /**
   * Submits a task: this is what costs credits. Never throws. Where a reply is missing or makes no sense
   * after the request could have left, the outcome is `unknown`.
   */
  async submit(request: GenerationRequest, signal?: AbortSignal, onSent?: () => void): Promise<SubmitReply> {
    try {
      const reply = await this.#exchange({
        method: "POST",
        url: this.#endpoint(),
        body: JSON.stringify(request),
        timeoutMs: this.#options.submitTimeoutMs ?? SUBMIT_TIMEOUT_MS,
        signal,
        onSent: () => {
          // While the service is at it.
          void readers();
          onSent?.();
        },
      });
      return this.#readSubmit(reply, await readers());
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      if (!error.sent) return { outcome: "not_sent", cause: error };
      return { outcome: "unknown", why: troubleText(error), cause: error };
    }
  }

  #readSubmit({ status, headers, body }: Reply, read: Readers): SubmitReply {
    const envelope = this.#envelope(body, read);
    const key = envelope.kind === "error" ? envelope.key : null;
    if (status === 429) {
      const error = refusal(key, status, "no");
      return { outcome: "rate_limited", retryAfterMs: this.#retryAfter(headers), error };
    }
    if (DEFINITE_NO.has(status)) return { outcome: "refused", error: refusal(key, status, "no") };
    if (status < 200 || status === 408 || status >= 500 || (status >= 300 && status < 400)) {
      return { outcome: "unknown", why: `the service answered HTTP ${status}` };
    }
    if (envelope.kind === "error") return { outcome: "refused", error: refusal(key, status, "no") };
    if (envelope.kind === "nonsense")
      return { outcome: "unknown", why: `the service answered ${envelope.why}` };
    const taskId = status < 300 ? read.parseTaskId(envelope.data) : null;
    if (taskId === null) return { outcome: "unknown", why: "the reply holds no usable task id" };
    return { outcome: "accepted", taskId };
  }

  /** Looks at a task once, for at most `timeoutMs` (default: the poll time-out). Costs nothing. Never throws. */
  async poll(taskId: string, timeoutMs = Infinity, signal?: AbortSignal): Promise<PollReply> {
    try {
      const reply = await this.#exchange({
        method: "GET",
        url: this.#endpoint(taskId),
        timeoutMs: Math.min(timeoutMs, this.#options.pollTimeoutMs ?? POLL_TIMEOUT_MS),
        signal,
      });
      return this.#readPoll(reply, await readers());
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      return {
        outcome: "retry",
        why: troubleText(error),
        rateLimited: false,
        retryAfterMs: null,
        trouble: error,
      };
    }
  }

  #readPoll({ status, headers, body }: Reply, read: Readers): PollReply {
    const retry = (why: string): PollReply => ({
      outcome: "retry",
      why,
      rateLimited: status === 429,
      retryAfterMs: this.#retryAfter(headers),
      trouble: null,
    });
    if (status === 408 || status === 425 || status === 429 || status >= 500) return retry(`HTTP ${status}`);
    const envelope = this.#envelope(body, read);
    const key = envelope.kind === "error" ? envelope.key : null;
    if (key !== null || status === 401 || status === 403) {
      return { outcome: "refused", error: pollRefusal(key, status) };
    }
    if (status < 200 || status >= 300) return retry(`HTTP ${status}`);
    const task = envelope.kind === "success" ? read.parseTaskState(envelope.data) : null;
    if (task === null)
      return retry(envelope.kind === "nonsense" ? envelope.why : "a reply without a task in it");
    return { outcome: "state", task };
  }

  /** An error key is shown to people; where a service repeats the API key in it, that part is not. */
  #envelope(body: string, read: Readers): Envelope {
    const envelope = read.parseEnvelope(body);
    if (envelope.kind !== "error") return envelope;
    const { apiKey } = this.#options;
    return { kind: "error", key: envelope.key.replaceAll(apiKey, maskKey(apiKey)) };
  }

  #retryAfter(headers: ReplyHeaders): number | null {
    return parseRetryAfter(headers["retry-after"], this.#options.clock.now());
  }

  #endpoint(taskId?: string): URL {
    const query = taskId === undefined ? "" : `?taskId=${encodeURIComponent(taskId)}`;
    return new URL(`${this.#options.baseUrl}/generate-image${query}`);
  }

  async #exchange(request: HttpRequest): Promise<Reply> {
    const reply: Reply = { status: 0, headers: {}, body: "" };
    const chunks: Buffer[] = [];
    let size = 0;
    const headers: Record<string, string> = { authorization: `Bearer ${this.#options.apiKey}` };
    if (request.body !== undefined) headers["content-type"] = "application/json";
    await this.#options.http.send(
      { ...request, headers },
      {
        onHead: (status, replyHeaders) => Object.assign(reply, { status, headers: replyHeaders }),
        onData: (chunk) => {
          size += chunk.length;
          if (size > LARGEST_REPLY_BYTES) throw new Error("a reply of more than 1 MiB");
          chunks.push(chunk);
        },
      },
    );
    reply.body = Buffer.concat(chunks).toString("utf8");
    return reply;
  }
}
