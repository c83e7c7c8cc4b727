import path from "node:path";
import { isLoopbackHost } from "../api/address.ts";
import { connectionErrorText, describeConnectionError, isUntrusted } from "../api/connection-errors.ts";
import { fetchReply, HttpClient, type HttpReply, LargeReplyError } from "../api/http-client.ts";
import type { ListenOptions } from "../api/messages.ts";
import { TRANSFER_POLICY } from "../api/retry.ts";
import { type HttpRequest, TransportError } from "../api/transport.ts";
import { Slots } from "../lib/concurrency.ts";
import { makeFolder } from "../lib/durable.ts";
import { errorText } from "../lib/error-text.ts";
import { redactUrl, secretsMasker } from "../lib/redact.ts";
import { type FailedReply, failedReply, type ReplySource } from "./failed-reply.ts";
import { isDiskFull, toClause } from "./failures.ts";
import type { GeneratorOptions, ProviderDeps, ServerSetup } from "./kind.ts";
import type { PostBody } from "./post-body.ts";
import {
  type Job,
  type MadeImage,
  type PollOptions,
  ProviderError,
  type SentRequest,
  type SubmitOptions,
} from "./provider.ts";
import { ReplyFile } from "./reply-file.ts";
import { defaultReplyFile, readReplyFile, readStoredReply, type StoredReply } from "./stored-reply.ts";

export interface ServerOptions extends Pick<ServerSetup, "url" | "keyHeaders"> {
  options: Pick<GeneratorOptions, "headers" | "key" | "keyVariable">;
  /** Suffix of the server's other host names, such as `.example.com`. Requests to them use https only. */
  otherHosts?: string;
}

declare const OWN: unique symbol;
/** URL of the server or of one of its other hosts, to which imggen is allowed to send the key. */
export type OwnUrl = URL & { readonly [OWN]: true };

const MAX_URL_LENGTH = 2000;

/** Time limit of a request that costs nothing, in milliseconds. */
const GET_TIMEOUT_MS = 15_000;
const UPLOAD_TIMEOUT_MS = TRANSFER_POLICY.upload.timeoutMs;
const STOP_TIMEOUT_MS = 5_000;
/** Maximum time without a received byte of a large reply, in milliseconds. Its total time has no limit. */
const LARGE_IDLE_MS = 5 * 60_000;

/** Limit of two large replies in memory at a time, because each can contain all images of a job. */
const largeReplies = new Slots(2);

/** HTTP client that sends the key only to its server and the server's other hosts, never to a redirect's target. */
export class ProviderServer {
  readonly #options: ServerOptions;
  readonly #base: URL;
  readonly #proxies: ProviderDeps["proxies"];
  readonly #http: HttpClient;
  readonly #clock: ProviderDeps["clock"];
  /** Hides the key and the values of the user's headers in a text. */
  readonly mask: (text: string) => string;

  constructor(server: ServerOptions, { proxies, onExchange, clock }: ProviderDeps) {
    this.#options = server;
    this.#base = new URL(server.url);
    this.#proxies = isLoopbackHost(this.#base.hostname) ? undefined : proxies;
    this.#http = new HttpClient({ proxies: this.#proxies, onExchange });
    this.#clock = clock;
    this.mask = secretsMasker(server.options.key, server.options.headers);
  }

  get host(): string {
    return this.#base.host;
  }

  /** Whether requests have a header that might contain a key. */
  get hasKey(): boolean {
    return Object.keys(this.#headers).length > 0;
  }

  get keyVariable(): string | undefined {
    return this.#options.options.keyVariable;
  }

  get address(): string {
    return `${this.#base.origin}${this.#base.pathname}`;
  }

  /**
   * Sends the request for a job's image once. The reply is stored in a file before it is read, so that a paid image
   * is not lost if the process ends.
   * @returns the reply with any HTTP status; `cut` is set if the reply is incomplete
   * @throws ProviderError (unsent, disk, lost)
   */
  async post(
    relativeUrl: string,
    body: PostBody,
    job: Job,
    { signal, onSent, onUnstored }: Pick<SubmitOptions, "signal" | "onSent" | "onUnstored">,
    isDispensable?: (reply: StoredReply) => boolean,
  ): Promise<StoredReply> {
    const reply = await this.#createReply(job, onUnstored, isDispensable);
    let failure: TransportError | null = null;
    try {
      const headers = {
        ...this.#headers,
        // With this id, the user can look up a paid request at the provider.
        ...(job.isPaid && { "x-client-request-id": job.taskId }),
        "content-type": body.type,
        "accept-encoding": "identity",
      };
      const request = {
        method: "POST",
        url: this.#resolveUrl(relativeUrl),
        headers,
        body: body.content,
      } as const;
      await this.#http.send({ ...request, signal, onSent }, reply);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      failure = error;
    } finally {
      await reply.close();
    }
    if (failure?.wasSent === false) throw this.#unsentError(failure, signal);
    const cut = failure && this.#failureReason(failure, signal);
    const stored = await readStoredReply(job, cut);
    if (stored === null) throw this.lost(cut ?? "the reply has no status line and headers");
    return stored;
  }

  /** Sends a request that costs nothing. @throws ProviderError (unsent), or the signal's reason */
  get(
    address: string | OwnUrl,
    signal: AbortSignal,
    timeoutMs = GET_TIMEOUT_MS,
    maxBytes?: number,
  ): Promise<HttpReply> {
    const request = {
      method: "GET",
      url: this.#resolveUrl(address),
      headers: this.#headers,
      signal,
    } as const;
    return this.#sendFreeRequest(
      { ...request, timeoutMs: Math.min(timeoutMs, GET_TIMEOUT_MS) },
      signal,
      maxBytes,
    );
  }

  /**
   * Requests a job's state or result. A large reply is streamed to `file`, so that only `read` has it in memory.
   * @param read receives the reply; `isStored` is true if the reply is in `file`
   */
  async poll<Result>(
    url: OwnUrl,
    file: string,
    { signal, timeoutMs = LARGE_IDLE_MS }: PollOptions,
    read: (reply: HttpReply, isStored: boolean) => Promise<Result>,
  ): Promise<Result> {
    const reply = await this.get(url, signal, timeoutMs);
    if (!(reply.cut?.cause instanceof LargeReplyError)) return read(reply, false);
    return largeReplies.run(async () => read(await this.#streamToFile(url, file, signal, timeoutMs), true));
  }

  async #streamToFile(url: OwnUrl, file: string, signal: AbortSignal, timeoutMs: number): Promise<HttpReply> {
    await makeFolder(path.dirname(file), 0o700);
    const { mask } = this;
    const options = { isPaid: false, isRepeatable: true, mask, clock: this.#clock };
    const target = await ReplyFile.create(file, options);
    const headers = { ...this.#headers, "accept-encoding": "identity" };
    const idleTimeoutMs = Math.min(timeoutMs, LARGE_IDLE_MS);
    let cut: TransportError | null = null;
    try {
      await this.#http.send({ method: "GET", url, headers, signal, idleTimeoutMs }, target);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TransportError)) throw error;
      cut = error;
    } finally {
      await target.close();
    }
    if (cut !== null && isDiskFull(cut.cause)) throw cut.cause;
    const stored = await readReplyFile(file, null);
    if (stored === null) throw this.#unsentError(cut, signal);
    return { ...stored, body: stored.body.toString("utf8"), cut };
  }

  /** Sends a free request that is safe to repeat. @throws ProviderError (unsent), or the signal's reason */
  postFree(relativeUrl: string, { type, content }: PostBody, signal: AbortSignal): Promise<HttpReply> {
    const headers = { ...this.#headers, "content-type": type };
    const request = {
      method: "POST",
      url: this.#resolveUrl(relativeUrl),
      timeoutMs: UPLOAD_TIMEOUT_MS,
    } as const;
    return this.#sendFreeRequest({ ...request, headers, body: content, signal }, signal);
  }

  async #sendFreeRequest(request: HttpRequest, signal: AbortSignal, maxBytes?: number): Promise<HttpReply> {
    try {
      return await fetchReply(this.#http, request, maxBytes);
    } catch (error) {
      signal.throwIfAborted();
      throw this.#unsentError(error, signal);
    }
  }

  /** Receives the server's messages until the signal aborts or the server closes the stream. Never throws. */
  async listen(
    relativeUrl: string,
    signal: AbortSignal,
    callbacks: Pick<ListenOptions, "onText" | "onBytes">,
  ): Promise<void> {
    const messages = await import("../api/messages.ts").catch(() => null);
    const proxies = this.#proxies;
    await messages?.listen(this.#resolveUrl(relativeUrl), {
      headers: this.#headers,
      proxies,
      signal,
      ...callbacks,
    });
  }

  get downloadHeaders(): Readonly<Record<string, string>> {
    return this.#headers;
  }

  /** Sends a request that stops work on the server. Never throws. @returns the reply, or null if no reply arrived */
  cancel(method: "POST" | "PUT", address: string | OwnUrl, signal?: AbortSignal): Promise<HttpReply | null> {
    const request = { method, url: this.#resolveUrl(address), headers: this.#headers, signal } as const;
    return fetchReply(this.#http, { ...request, timeoutMs: STOP_TIMEOUT_MS }).catch(() => null);
  }

  /** Returns the URL if it is absolute and belongs to the server, which can receive the key, otherwise null. */
  ownUrl(address: unknown): OwnUrl | null {
    if (typeof address !== "string" || address.length > MAX_URL_LENGTH || !URL.canParse(address)) return null;
    const url = new URL(address);
    const hasNoLogin = url.username === "" && url.password === "";
    return hasNoLogin && (url.origin === this.#base.origin || this.#isOtherHost(url))
      ? (url as OwnUrl)
      : null;
  }

  urlBelow(relativeUrl: string): string {
    return this.#resolveUrl(relativeUrl).href;
  }

  #isOtherHost({ protocol, hostname, port }: URL): boolean {
    const { otherHosts } = this.#options;
    if (otherHosts === undefined || !`.${this.#base.hostname}`.endsWith(otherHosts)) return false;
    return protocol === "https:" && port === "" && hostname.endsWith(otherHosts);
  }

  /** Describes a POST request for `--dry-run`. @param relativeUrl a path below the base URL */
  describe(relativeUrl: string, body: unknown): SentRequest {
    return { method: "POST", url: this.mask(redactUrl(this.urlBelow(relativeUrl))), body };
  }

  /** Returns the image at an address from a reply. @param address absolute, or relative to the base URL */
  imageAt(address: string): Extract<MadeImage, { kind: "url" }> {
    if (!URL.canParse(address, this.#base.href)) return { kind: "url", url: address };
    const { href: url, origin } = new URL(address, this.#base.href);
    return { kind: "url", url, ...(origin === this.#base.origin && { headers: this.#headers }) };
  }

  replySource(isPaid: boolean): ReplySource {
    const { host, address, hasKey, keyVariable, mask } = this;
    return { host, address, hasKey, keyVariable, mask, isPaid, nowMs: this.#clock.now() };
  }

  failure(reply: FailedReply, isPaid: boolean): ProviderError {
    return failedReply(reply, this.replySource(isPaid));
  }

  /** Creates the error for a sent request without a complete reply. @param reason a clause */
  lost(reason: string): ProviderError {
    return new ProviderError(`${this.host} sent no complete reply: ${reason}.`, { kind: "lost" });
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  get #headers(): Record<string, string> {
    const { keyHeaders, options } = this.#options;
    const userHeaders = Object.entries(options.headers).map(([name, value]) => [name.toLowerCase(), value]);
    return { ...keyHeaders, ...Object.fromEntries(userHeaders) };
  }

  /** @param address a path below the base URL with an optional query, or a URL of the server */
  #resolveUrl(address: string | OwnUrl): URL {
    if (typeof address !== "string") return address;
    const url = new URL(this.#base.href);
    const [name = "", query] = address.split("?");
    url.pathname = `${url.pathname.replace(/\/$/, "")}${name}`;
    for (const [key, value] of new URLSearchParams(query)) url.searchParams.append(key, value);
    return url;
  }

  async #createReply(
    { isPaid, folder, fallbackFiles }: Job,
    onUnstored: SubmitOptions["onUnstored"],
    isDispensable: ((reply: StoredReply) => boolean) | undefined,
  ): Promise<ReplyFile> {
    const file = defaultReplyFile({ folder });
    const unstored = `The reply from ${this.host} cannot be written to disk, and will be lost if imggen exits, although the request may be charged. Free some space in ${[file, ...(fallbackFiles ?? [])].map((candidate) => path.dirname(candidate)).join(" or ")}.`;
    try {
      return await ReplyFile.create(file, {
        isPaid,
        mask: this.mask,
        fallbackFiles,
        isDispensable,
        onUnstored: () => onUnstored?.(unstored),
        clock: this.#clock,
      });
    } catch (cause) {
      const replyFolder = path.dirname(file);
      const message = `Nothing was sent to ${this.host}, because its reply could not be stored in ${replyFolder}: ${errorText(cause)}.`;
      const hint = "Nothing was charged. Free some space or fix the folder's permissions, then try again.";
      throw new ProviderError(message, { kind: "disk" }, { cause, hint });
    }
  }

  #unsentError(cause: unknown, signal: AbortSignal): ProviderError {
    // `describeConnectionError` explains how to trust the server's certificate.
    if (isUntrusted(cause)) {
      const { message, hint } = describeConnectionError(cause, this.#base);
      return new ProviderError(this.mask(message), { kind: "unsent" }, { cause, hint });
    }
    const reason = this.#failureReason(cause, signal);
    const message = signal.aborted
      ? `Nothing was sent to ${this.host}: ${reason}.`
      : `The generator at ${this.host} could not be reached: ${reason}.`;
    const hint =
      "Nothing was sent or charged. Check that the generator is running and that its address is correct.";
    return new ProviderError(message, { kind: "unsent" }, { cause, hint });
  }

  #failureReason(failure: unknown, { aborted, reason }: AbortSignal): string {
    return this.mask(aborted ? toClause(errorText(reason)) : connectionErrorText(failure));
  }
}
