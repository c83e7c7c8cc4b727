import path from "node:path";
import { isLoopbackHost } from "../api/address.ts";
import { connectionErrorText, describeConnectionError, isUntrusted } from "../api/connection-errors.ts";
import { HttpClient, type HttpReply, LargeReplyError, wholeReply } from "../api/http-client.ts";
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
  type PollHow,
  ProviderError,
  type SentRequest,
  type SubmitHow,
} from "./provider.ts";
import { ReplyFile } from "./reply-file.ts";
import { defaultReplyFile, readReplyFile, readStoredReply, type StoredReply } from "./stored-reply.ts";

/** A server, and what every request has: the query of its URL, its key, the headers that the user has set. */
export interface ServerOptions extends Pick<ServerSetup, "url" | "keyHeaders"> {
  options: Pick<GeneratorOptions, "headers" | "key" | "keyVariable">;
  /** The end of the names of its other hosts, `.example.com`, which are reached over https alone; absent: it has none. */
  otherHosts?: string;
}

declare const OWN: unique symbol;
/** An address that is the server's own: the key may go there. */
export type OwnUrl = URL & { readonly [OWN]: true };

const MAX_URL_LENGTH = 2000;

/** The limit of a request that costs nothing: models, progress. */
const GET_TIMEOUT_MS = 15_000;
/** Time limit of an upload of a reference image, to a distant server too. */
const UPLOAD_TIMEOUT_MS = TRANSFER_POLICY.upload.timeoutMs;
const STOP_TIMEOUT_MS = 5_000;
/** The limit of a poll whose reply holds images, without a byte and in all. */
const LARGE_IDLE_MS = 15_000;
const LARGE_TIMEOUT_MS = 5 * 60_000;

/** A poll's reply may hold all images of its job, and the reference images: only two such replies are received at once. */
const largeReplies = new Slots(2);

/**
 * A provider's server over HTTP: each call is one request. Its key goes to its own origin alone, and no redirect is
 * followed with it. Never through a proxy to this machine itself.
 */
export class ProviderServer {
  readonly #options: ServerOptions;
  readonly #base: URL;
  readonly #proxies: ProviderDeps["proxies"];
  readonly #http: HttpClient;
  readonly #clock: ProviderDeps["clock"];
  /** Hides the key, and the values of the user's headers, in a text for people. */
  readonly mask: (text: string) => string;

  constructor(server: ServerOptions, { proxies, onExchange, clock }: ProviderDeps) {
    this.#options = server;
    this.#base = new URL(server.url);
    this.#proxies = isLoopbackHost(this.#base.hostname) ? undefined : proxies;
    this.#http = new HttpClient({ proxies: this.#proxies, onExchange });
    this.#clock = clock;
    this.mask = secretsMasker(server.options.key, server.options.headers);
  }

  /** For messages: its host, with the port where that is not the usual one. */
  get host(): string {
    return this.#base.host;
  }

  /** Whether requests carry anything that may be a key. */
  get hasKey(): boolean {
    return Object.keys(this.#headers).length > 0;
  }

  /** The variable whose key would be sent to it; undefined for none. */
  get keyVariable(): string | undefined {
    return this.#options.options.keyVariable;
  }

  /** For messages: its base, without a query. */
  get address(): string {
    return `${this.#base.origin}${this.#base.pathname}`;
  }

  /**
   * Sends the request for a job's image, once. Its reply is written to a file while it arrives, synced if it is paid for,
   * and only then read. @returns the reply, whatever its status: one that was cut short, or given up, says so
   * @param isDispensable as of `ReplyFile`
   * @throws ProviderError (unsent, disk, lost)
   */
  async post(
    to: string,
    body: PostBody,
    job: Job,
    { signal, onSent, onUnstored }: Pick<SubmitHow, "signal" | "onSent" | "onUnstored">,
    isDispensable?: (reply: StoredReply) => boolean,
  ): Promise<StoredReply> {
    const reply = await this.#createReply(job, onUnstored, isDispensable);
    let failure: TransportError | null = null;
    try {
      const headers = {
        ...this.#headers,
        // A paid request can be looked up by its task's id.
        ...(job.isPaid && { "x-client-request-id": job.taskId }),
        "content-type": body.type,
        "accept-encoding": "identity",
      };
      const request = { method: "POST", url: this.#resolveUrl(to), headers, body: body.content } as const;
      await this.#http.send({ ...request, signal, onSent }, reply);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      failure = error;
    } finally {
      await reply.close();
    }
    if (failure?.wasSent === false) throw this.#unsent(failure, signal);
    const cut = failure && this.#failureReason(failure, signal);
    const stored = await readStoredReply(job, cut);
    if (stored === null) throw this.lost(cut ?? "it has no head");
    return stored;
  }

  /**
   * Sends a GET that costs nothing. @param from below the base, or one of its own addresses
   * @throws ProviderError (unsent), or the signal's reason
   */
  get(
    from: string | OwnUrl,
    signal: AbortSignal,
    timeoutMs = GET_TIMEOUT_MS,
    maxBytes?: number,
  ): Promise<HttpReply> {
    const request = { method: "GET", url: this.#resolveUrl(from), headers: this.#headers, signal } as const;
    return this.#ask({ ...request, timeoutMs: Math.min(timeoutMs, GET_TIMEOUT_MS) }, signal, maxBytes);
  }

  /**
   * As `get`, for the state or the result of a job. A reply that is large is streamed to a file, and is in memory only while it
   * is read.
   * @param file of the job's folder @param read `isStored`: whether the file has the reply
   */
  async poll<Result>(
    from: OwnUrl,
    file: string,
    { signal, timeoutMs = LARGE_TIMEOUT_MS }: PollHow,
    read: (reply: HttpReply, isStored: boolean) => Promise<Result>,
  ): Promise<Result> {
    const reply = await this.get(from, signal, timeoutMs);
    if (!(reply.cut?.cause instanceof LargeReplyError)) return read(reply, false);
    return largeReplies.run(async () => read(await this.#streamed(from, file, signal, timeoutMs), true));
  }

  async #streamed(url: OwnUrl, file: string, signal: AbortSignal, timeoutMs: number): Promise<HttpReply> {
    await makeFolder(path.dirname(file), 0o700);
    const { mask } = this;
    const options = { isPaid: false, isRepeatable: true, mask, clock: this.#clock };
    const target = await ReplyFile.create(file, options);
    const headers = { ...this.#headers, "accept-encoding": "identity" };
    const limits = { idleTimeoutMs: LARGE_IDLE_MS, timeoutMs: Math.min(timeoutMs, LARGE_TIMEOUT_MS) };
    let cut: TransportError | null = null;
    try {
      await this.#http.send({ method: "GET", url, headers, signal, ...limits }, target);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TransportError)) throw error;
      cut = error;
    } finally {
      await target.close();
    }
    if (cut !== null && isDiskFull(cut.cause)) throw cut.cause;
    const stored = await readReplyFile(file, null);
    if (stored === null) throw this.#unsent(cut, signal);
    return { ...stored, body: stored.body.toString("utf8"), cut };
  }

  /** Sends a POST that costs nothing, and may be sent twice. @throws as `get` */
  tell(at: string, { type, content }: PostBody, signal: AbortSignal): Promise<HttpReply> {
    const headers = { ...this.#headers, "content-type": type };
    const request = { method: "POST", url: this.#resolveUrl(at), timeoutMs: UPLOAD_TIMEOUT_MS } as const;
    return this.#ask({ ...request, headers, body: content, signal }, signal);
  }

  async #ask(request: HttpRequest, signal: AbortSignal, maxBytes?: number): Promise<HttpReply> {
    try {
      return await wholeReply(this.#http, request, maxBytes);
    } catch (error) {
      signal.throwIfAborted();
      throw this.#unsent(error, signal);
    }
  }

  /** Listens to the server's messages until the signal, or until it ends them. Never throws. */
  async listen(
    at: string,
    signal: AbortSignal,
    to: Pick<ListenOptions, "onText" | "onBytes">,
  ): Promise<void> {
    const messages = await import("../api/messages.ts").catch(() => null);
    const proxies = this.#proxies;
    await messages?.listen(this.#resolveUrl(at), { headers: this.#headers, proxies, signal, ...to });
  }

  /** Headers for downloads from its own origin. */
  get downloadHeaders(): Readonly<Record<string, string>> {
    return this.#headers;
  }

  /** Asks it to end its work. Never throws. @returns its reply; null without an answer */
  cancel(method: "POST" | "PUT", at: string | OwnUrl, signal?: AbortSignal): Promise<HttpReply | null> {
    const request = { method, url: this.#resolveUrl(at), headers: this.#headers, signal } as const;
    return wholeReply(this.#http, { ...request, timeoutMs: STOP_TIMEOUT_MS }).catch(() => null);
  }

  /**
   * An address that a reply or a record names, if it is one of the server's own, so that the key may go there; else null.
   * @param address absolute
   */
  ownUrl(address: unknown): OwnUrl | null {
    if (typeof address !== "string" || address.length > MAX_URL_LENGTH || !URL.canParse(address)) return null;
    const url = new URL(address);
    const isPlain = url.username === "" && url.password === "";
    return isPlain && (url.origin === this.#base.origin || this.#isOtherHost(url)) ? (url as OwnUrl) : null;
  }

  /** @param relative a path below the base, with a query or without */
  urlBelow(relative: string): string {
    return this.#resolveUrl(relative).href;
  }

  #isOtherHost({ protocol, hostname, port }: URL): boolean {
    const { otherHosts } = this.#options;
    if (otherHosts === undefined || !`.${this.#base.hostname}`.endsWith(otherHosts)) return false;
    return protocol === "https:" && port === "" && hostname.endsWith(otherHosts);
  }

  /** A POST as people read it. @param to a path below the base */
  describe(to: string, body: unknown): SentRequest {
    return { method: "POST", url: this.mask(redactUrl(this.urlBelow(to))), body };
  }

  /** An image that a reply names. @param address absolute, or relative to the server */
  imageAt(address: string): Extract<MadeImage, { kind: "url" }> {
    if (!URL.canParse(address, this.#base.href)) return { kind: "url", url: address };
    const { href: url, origin } = new URL(address, this.#base.href);
    return { kind: "url", url, ...(origin === this.#base.origin && { headers: this.#headers }) };
  }

  /** The context for reading a reply of it. */
  replySource(isPaid: boolean): ReplySource {
    const { host, address, hasKey, keyVariable, mask } = this;
    return { host, address, hasKey, keyVariable, mask, isPaid, nowMs: this.#clock.now() };
  }

  /** The error for a reply that is not a success. */
  failure(reply: FailedReply, isPaid: boolean): ProviderError {
    return failedReply(reply, this.replySource(isPaid));
  }

  /** A request that was sent, and whose reply is not whole. @param why a clause */
  lost(why: string): ProviderError {
    return new ProviderError(`No whole reply came from ${this.host}: ${why}.`, { kind: "lost" });
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  get #headers(): Record<string, string> {
    const { keyHeaders, options } = this.#options;
    const userHeaders = Object.entries(options.headers).map(([name, value]) => [name.toLowerCase(), value]);
    return { ...keyHeaders, ...Object.fromEntries(userHeaders) };
  }

  /** @param relative a path below the base, with a query or without; or a whole address */
  #resolveUrl(relative: string | OwnUrl): URL {
    if (typeof relative !== "string") return relative;
    const url = new URL(this.#base.href);
    const [name = "", query] = relative.split("?");
    url.pathname = `${url.pathname.replace(/\/$/, "")}${name}`;
    for (const [key, value] of new URLSearchParams(query)) url.searchParams.append(key, value);
    return url;
  }

  async #createReply(
    { isPaid, folder, fallbackFiles }: Job,
    onUnstored: SubmitHow["onUnstored"],
    isDispensable: ((reply: StoredReply) => boolean) | undefined,
  ): Promise<ReplyFile> {
    const file = defaultReplyFile({ folder });
    const unstored = `No disk takes the reply from ${this.host}, which may be charged: it is in memory alone, and lost if imggen ends. Free some space in one of: ${[file, ...(fallbackFiles ?? [])].map((each) => path.dirname(each)).join(", ")}.`;
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
      const where = path.dirname(file);
      const message = `Nothing was sent to ${this.host}: no reply could be kept in ${where}: ${errorText(cause)}.`;
      const hint = "Nothing was charged. Free some space or fix the folder's permissions, then try again.";
      throw new ProviderError(message, { kind: "disk" }, { cause, hint });
    }
  }

  #unsent(cause: unknown, signal: AbortSignal): ProviderError {
    // The error says which certificate to trust, and how.
    if (isUntrusted(cause)) {
      const { message, hint } = describeConnectionError(cause, this.#base);
      return new ProviderError(this.mask(message), { kind: "unsent" }, { cause, hint });
    }
    const why = this.#failureReason(cause, signal);
    const message = signal.aborted
      ? `Nothing was sent to ${this.host}: ${why}.`
      : `The generator at ${this.host} could not be reached: ${why}.`;
    const hint = "Nothing was sent or charged. Is it running, and is its address right?";
    return new ProviderError(message, { kind: "unsent" }, { cause, hint });
  }

  /** Why an exchange ended too early, as a clause. */
  #failureReason(failure: unknown, { aborted, reason }: AbortSignal): string {
    return this.mask(aborted ? toClause(errorText(reason)) : connectionErrorText(failure));
  }
}
