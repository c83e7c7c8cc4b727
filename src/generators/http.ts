import { guardedLookup, isLoopbackHost } from "../api/address.ts";
import { HttpClient, type HttpReply, wholeReply } from "../api/client.ts";
import { connectionErrorText } from "../api/connection-errors.ts";
import { type DownloadReply, download } from "../api/download.ts";
import { backoffMs, DOWNLOAD } from "../api/retry.ts";
import { TransportError } from "../api/transport.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { removeIfPresent } from "../lib/durable.ts";
import { errorText } from "../lib/error-text.ts";
import { keyMasker } from "../lib/redact.ts";
import { type GeneratorDeps, GeneratorError } from "./generator.ts";
import { ReplyFile, readReplyFile, type StoredReply } from "./reply-file.ts";
import type { GeneratorOptions } from "./spec.ts";

export interface ServerOptions extends Pick<GeneratorOptions, "headers" | "isPaid" | "key" | "timeoutMs"> {
  /** Its base. A query in it goes along with every request. */
  url: string;
  /** The Authorization header, unless `headers` has one; null for none. */
  authorization: string | null;
}

/** The body of a POST, and its type. */
export interface PostBody {
  type: string;
  bytes: string | Buffer;
}

/** A shorter value of a header is none, such as a version, and to hide it would hide words too. */
const SHORTEST_SECRET = 8;
/** For what costs nothing: models, progress. */
const GET_TIMEOUT_MS = 15_000;

/**
 * A generator's server over HTTP: each call is one request. Its key goes to its own origin alone, and no redirect is
 * followed with it. Never through a proxy to this machine itself.
 */
export class GeneratorServer {
  readonly #options: ServerOptions;
  readonly #deps: GeneratorDeps;
  readonly #base: URL;
  readonly #http: HttpClient;
  readonly #downloads: HttpClient;
  readonly #maskers: readonly ((text: string) => string)[];

  constructor(options: ServerOptions, deps: GeneratorDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#base = new URL(options.url);
    const { hostname } = this.#base;
    const { onExchange } = deps;
    const proxies = isLoopbackHost(hostname) ? undefined : deps.proxies;
    this.#http = new HttpClient({ proxies, onExchange });
    this.#downloads = new HttpClient({ proxies, onExchange, lookup: guardedLookup(hostname) });
    const values = Object.values(options.headers).filter((value) => value.length >= SHORTEST_SECRET);
    this.#maskers = [options.key ?? "", ...values].map(keyMasker);
  }

  /** For messages: its host, with the port where that is not the usual one. */
  get host(): string {
    return this.#base.host;
  }

  /** Hides the key, and the values of the headers that the user has set, in a text from anywhere. */
  readonly mask = (text: string): string => this.#maskers.reduce((masked, mask) => mask(masked), text);

  /**
   * Sends a POST, once. Its reply is written to `file` while it arrives, synced if the generator is paid, and only then
   * read. @returns the reply, whatever its status: one that was cut short says so
   * @throws GeneratorError (unreachable, lost); or the signal's reason
   */
  async post(
    path: string,
    { type, bytes }: PostBody,
    { file, signal, headers = {} }: { file: string; signal: AbortSignal; headers?: Record<string, string> },
  ): Promise<StoredReply> {
    const reply = await this.#replyFile(file);
    let failure: TransportError | null = null;
    try {
      await this.#http.send(
        {
          method: "POST",
          url: this.#urlOf(path),
          headers: { ...this.#headers, ...headers, "content-type": type, "accept-encoding": "identity" },
          body: bytes,
          timeoutMs: this.#options.timeoutMs,
          signal,
        },
        reply,
      );
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      failure = error;
    } finally {
      await reply.close();
    }
    if (failure && signal.aborted) throw signal.reason;
    if (failure?.sent === false) throw this.#unreachable(failure);
    const stored = await readReplyFile(file, failure === null);
    if (stored === null) throw this.lost(connectionErrorText(failure));
    return stored;
  }

  /** Sends a GET that costs nothing. @throws GeneratorError (unreachable); or the signal's reason */
  async get(path: string, signal: AbortSignal): Promise<HttpReply> {
    try {
      const url = this.#urlOf(path);
      const request = { method: "GET", url, headers: this.#headers, timeoutMs: GET_TIMEOUT_MS } as const;
      return await wholeReply(this.#http, { ...request, signal });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw this.#unreachable(error);
    }
  }

  /**
   * Downloads an image by the rules of result URLs, in up to 6 attempts.
   * @param url relative ones are relative to the server, to whose own origin alone the key goes along
   * @returns null, or why it failed. @throws the signal's reason, or the disk's error
   */
  async download(url: string, file: string, signal: AbortSignal): Promise<string | null> {
    const { href } = this.#base;
    const target = URL.canParse(url, href) ? new URL(url, href).href : url;
    for (let failures = 1; ; failures++) {
      const reply = await this.#downloadOnce(target, file, signal);
      signal.throwIfAborted();
      if (reply.outcome === "done") return null;
      if (reply.outcome !== "retry" || failures >= DOWNLOAD.attempts) return this.mask(reply.why);
      await this.#deps.clock.sleep(backoffMs(DOWNLOAD, failures, reply.retryAfterMs), signal);
    }
  }

  /** A request that was sent, and whose image is gone. @param why a clause */
  lost(why: string): GeneratorError {
    const message = `The request was sent to ${this.host}, and its image is lost: ${this.mask(why)}.`;
    return new GeneratorError(message, { kind: "lost" });
  }

  async close(): Promise<void> {
    await Promise.all([this.#http.close(), this.#downloads.close()]);
  }

  get #headers(): Record<string, string> {
    const { authorization, headers } = this.#options;
    const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
    return { ...(authorization !== null && { authorization }), ...Object.fromEntries(own) };
  }

  /** @param path below the base, with a query or without */
  #urlOf(path: string): URL {
    const url = new URL(this.#base.href);
    const [name = "", query] = path.split("?");
    url.pathname = `${url.pathname.replace(/\/$/, "")}${name}`;
    for (const [key, value] of new URLSearchParams(query)) url.searchParams.append(key, value);
    return url;
  }

  async #replyFile(file: string): Promise<ReplyFile> {
    try {
      return await ReplyFile.create(file, { isSynced: this.#options.isPaid, mask: this.mask });
    } catch (cause) {
      const message = `Nothing was sent to ${this.host}: no reply can be written to ${file}: ${errorText(cause)}.`;
      throw new GeneratorError(message, { kind: "unreachable" }, { cause });
    }
  }

  async #downloadOnce(url: string, file: string, signal: AbortSignal): Promise<DownloadReply> {
    removeIfPresent(file);
    const created = DiskFile.createExclusive(file, 0o600);
    try {
      const options = {
        http: this.#downloads,
        clock: this.#deps.clock,
        serviceUrl: this.#base,
        maskKey: this.mask,
        headers: this.#headers,
      };
      return await download(url, { write: (chunk) => created.write(chunk) }, { ...options, signal });
    } finally {
      created.close();
    }
  }

  #unreachable(error: unknown): GeneratorError {
    const why = this.mask(connectionErrorText(error));
    return new GeneratorError(
      `The generator at ${this.host} could not be reached: ${why}.`,
      { kind: "unreachable" },
      { cause: error },
    );
  }
}
