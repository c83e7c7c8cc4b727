import type { Clock } from "../../lib/clock.ts";
import { noteTask } from "../../lib/error-types.ts";
import { keyMasker } from "../../lib/redact.ts";
import { REQUEST_ID_HEADER } from "../../task/intent.ts";
import { ANY_MODEL, type GenerationRequest } from "../../task/request.ts";
import { type HttpClient, type HttpReply, wholeReply } from "../../api/client.ts";
import { connectionErrorText } from "../../api/connection-errors.ts";
import { excerptOf, refusedBody } from "./excerpt.ts";
import { type PollReply, type ReplyContext, readPoll, readSubmit, type SubmitReply } from "./replies.ts";
import { type HttpRequest, TransportError } from "../../api/transport.ts";

export type { FailedPoll, PollReply, SubmitReply } from "./replies.ts";

export interface ServiceOptions {
  http: HttpClient;
  clock: Pick<Clock, "now">;
  /** The service's base address with its `/api` prefix, without a slash at the end. */
  baseUrl: string;
  apiKey: string;
  /** Whether it is the embedded service before the user's own generator, which says more than the document. */
  ofGenerator?: boolean;
  /** Ends a submit (default 120 s: a short one would turn slow answers into unknown outcomes) or a poll (15 s). */
  requestTimeoutMs?: number | undefined;
}

const SUBMIT_TIMEOUT_MS = 120_000;
const POLL_TIMEOUT_MS = 15_000;

/** The service's two operations (sections 4.1 and 4.2), one request each; the caller retries. */
export interface ImageService {
  /** How long a submit may take, connecting included, in milliseconds. */
  readonly submitTimeoutMs: number;
  /**
   * With a shared rate limiter: waits until a submit may be sent, so that `submit` then sends it without waiting. Absent
   * without one. Never throws.
   * @returns null if it may be sent; otherwise the reply to use in place of the submit's
   */
  turn?(signal: AbortSignal): Promise<SubmitReply | null>;
  /**
   * Submits a task: this is what costs credits. Never throws. If the request may have left and there is no valid reply,
   * the outcome is `unknown`.
   * @param id the ledger's for the request: the queue before the user's own generator can be asked for its task by it
   */
  submit(
    request: GenerationRequest,
    signal: AbortSignal,
    onSent?: () => void,
    id?: string,
  ): Promise<SubmitReply>;
  /** Polls a task once, for at most `timeoutMs` (default: the poll timeout). Costs nothing. Never throws. */
  poll(taskId: string, timeoutMs: number | undefined, signal: AbortSignal): Promise<PollReply>;
}

/** The service over HTTP. */
export class HttpImageService implements ImageService {
  readonly #options: ServiceOptions;
  readonly #maskKey: (text: string) => string;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#maskKey = keyMasker(options.apiKey);
  }

  get submitTimeoutMs(): number {
    return this.#options.requestTimeoutMs ?? SUBMIT_TIMEOUT_MS;
  }

  async submit(
    request: GenerationRequest,
    signal?: AbortSignal,
    onSent?: () => void,
    id?: string,
  ): Promise<SubmitReply> {
    const { ofGenerator } = this.#options;
    try {
      const reply = await this.#exchange({
        method: "POST",
        url: new URL(`${this.#options.baseUrl}/generate-image`),
        body: JSON.stringify(this.#bodyOf(request)),
        headers: ofGenerator && id !== undefined ? { [REQUEST_ID_HEADER]: id } : {},
        timeoutMs: this.submitTimeoutMs,
        signal,
        onSent,
      });
      return readSubmit(reply, this.#reading);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      if (!error.sent) return { outcome: "not_sent", cause: error };
      return {
        outcome: "unknown",
        why: this.#maskKey(connectionErrorText(error)),
        excerpt: excerptOf(refusedBody(error), this.#maskKey),
        cause: error,
      };
    }
  }

  #bodyOf(request: GenerationRequest): Partial<GenerationRequest> {
    if (!this.#options.ofGenerator || request.model !== ANY_MODEL) return request;
    const { model: _, ...others } = request;
    return others;
  }

  async poll(taskId: string, timeoutMs = Infinity, signal?: AbortSignal): Promise<PollReply> {
    noteTask();
    try {
      const reply = await this.#exchange({
        method: "GET",
        url: taskUrl(this.#options.baseUrl, taskId),
        timeoutMs: Math.min(timeoutMs, this.#options.requestTimeoutMs ?? POLL_TIMEOUT_MS),
        signal,
      });
      return readPoll(reply, this.#reading);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      return {
        outcome: "retry",
        why: this.#maskKey(connectionErrorText(error)),
        rateLimited: false,
        retryAfterMs: null,
        connectionError: error,
      };
    }
  }

  get #reading(): ReplyContext {
    const { clock, ofGenerator = false } = this.#options;
    return { maskKey: this.#maskKey, nowMs: clock.now(), ofGenerator };
  }

  /** @throws TransportError if not even the head of a reply arrived */
  #exchange(request: HttpRequest): Promise<HttpReply> {
    const headers: Record<string, string> = {
      ...request.headers,
      authorization: `Bearer ${this.#options.apiKey}`,
    };
    if (request.body !== undefined) headers["content-type"] = "application/json";
    return wholeReply(this.#options.http, { ...request, headers });
  }
}

/** The address that a task is polled at (section 4.2). */
export function taskUrl(baseUrl: string, taskId: string): URL {
  return new URL(`${baseUrl}/generate-image?taskId=${encodeURIComponent(taskId)}`);
}
