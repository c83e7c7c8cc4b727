import { connectionErrorText } from "../../api/connection-errors.ts";
import { fetchReply, type HttpClient, type HttpReply } from "../../api/http-client.ts";
import { TRANSFER_POLICY } from "../../api/retry.ts";
import { type HttpRequest, TransportError } from "../../api/transport.ts";
import type { Clock } from "../../lib/clock.ts";
import { markTaskOpened } from "../../lib/error-types.ts";
import { isServerKey, keyMasker } from "../../lib/redact.ts";
import { ANY_MODEL, type GenerationRequest } from "../../task/request.ts";
import { FIELD_NAMES } from "../../task/request-fields.ts";
import { failedPoll } from "../failures.ts";
import type { Job, PollOptions, PollReply, Provider, SubmitOptions, SubmitReply } from "../provider.ts";
import { replyExcerpt } from "../reply-facts.ts";
import { type ReplyContext, readPoll, readSubmit, refusedBody } from "./replies.ts";

export interface ServiceOptions {
  http: HttpClient;
  clock: Pick<Clock, "now">;
  /** Base URL of the service with its suffix `/api`, without a slash at the end. */
  baseUrl: string;
  apiKey: string;
  /** Default: 120 s for a submit, because a shorter timeout causes unknown outcomes, and 15 s for a poll. */
  requestTimeoutMs?: number | undefined;
}

const DOCUMENTED_FIELDS = ["prompt", "model", "ratio", "image", "maxImages", "quality"] as const;

const { submit: SUBMIT, poll: POLL } = TRANSFER_POLICY;

/** The hosted service. Each submit (section 4.1) or poll (section 4.2) is one HTTP request without retries. */
export class HttpImageService implements Provider {
  readonly version = 1;
  readonly #options: ServiceOptions;
  readonly #maskKey: (text: string) => string;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#maskKey = keyMasker(options.apiKey);
  }

  get supports(): Provider["supports"] {
    return this.#isServer ? FIELD_NAMES : DOCUMENTED_FIELDS;
  }

  get limits(): Provider["limits"] {
    return { concurrency: null, submitMs: this.#submitMs };
  }

  get #submitMs(): number {
    return this.#options.requestTimeoutMs ?? SUBMIT.timeoutMs;
  }

  async submit(
    { request }: Pick<Job, "request">,
    submitOptions?: Partial<SubmitOptions>,
  ): Promise<SubmitReply> {
    try {
      const reply = await this.#exchange({
        method: "POST",
        url: new URL(`${this.#options.baseUrl}/generate-image`),
        body: JSON.stringify(submitBody(request, this.#isServer)),
        timeoutMs: this.#submitMs,
        signal: submitOptions?.signal,
        onSent: submitOptions?.onSent,
      });
      return readSubmit(reply, this.#replyContext);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      if (!error.wasSent) return { outcome: "not_sent", cause: error };
      return {
        outcome: "unknown",
        why: this.#maskKey(connectionErrorText(error)),
        excerpt: replyExcerpt(refusedBody(error), this.#maskKey),
        cause: error,
      };
    }
  }

  async poll(
    taskId: string,
    { timeoutMs = Infinity, signal }: Partial<PollOptions> = {},
  ): Promise<PollReply> {
    markTaskOpened();
    try {
      const reply = await this.#exchange({
        method: "GET",
        url: taskUrl(this.#options.baseUrl, taskId),
        timeoutMs: Math.min(timeoutMs, this.#options.requestTimeoutMs ?? POLL.timeoutMs),
        signal,
      });
      return readPoll(reply, this.#replyContext);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      return failedPoll(this.#maskKey(connectionErrorText(error)), { connectionError: error });
    }
  }

  /** Whether the server is `imggen serve`, which has a default model and supports more fields than the service. */
  get #isServer(): boolean {
    return isServerKey(this.#options.apiKey);
  }

  get #replyContext(): ReplyContext {
    return { maskKey: this.#maskKey, nowMs: this.#options.clock.now(), isServer: this.#isServer };
  }

  /** Does nothing, because the caller owns the HTTP connections and closes them. */
  async close(): Promise<void> {}

  /** @throws TransportError if no response headers arrived */
  #exchange(request: HttpRequest): Promise<HttpReply> {
    const headers: Record<string, string> = {
      ...request.headers,
      authorization: `Bearer ${this.#options.apiKey}`,
    };
    if (request.body !== undefined) headers["content-type"] = "application/json";
    return fetchReply(this.#options.http, { ...request, headers });
  }
}

/** Returns the body of a submit. The model is omitted if `imggen serve` is allowed to choose the model. */
export function submitBody(
  { model, ...others }: GenerationRequest,
  isServer: boolean,
): Partial<GenerationRequest> {
  return isServer && model === ANY_MODEL ? others : { model, ...others };
}

export function taskUrl(baseUrl: string, taskId: string): URL {
  return new URL(`${baseUrl}/generate-image?taskId=${encodeURIComponent(taskId)}`);
}
